package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], console{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// run runs the command that args ask for, and returns the exit code.
func run(ctx context.Context, args []string, c console) int {
	inv, err := parse(commands(), args)
	if err == nil {
		inv.ctx, inv.console = ctx, c
		err = inv.command.run(inv)
	}
	return report(err, c.err)
}
