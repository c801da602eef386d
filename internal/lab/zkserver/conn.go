package zkserver

type conn struct{}

func (c *conn) shut(format string, args ...any) {}
