package zkserver

import (
	"strings"
	"unicode/utf8"
)

// validPath tells whether a znode may have that path.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' {
		return false
	}
	rest := path[1:]
	for {
		name, more, found := strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." || !validName(name) {
			return false
		}
		if !found {
			return true
		}
		rest = more
	}
}

// validName checks the characters of one path component. Characters beyond
// U+FFFF are surrogate pairs to the Java server and refused there, so here.
func validName(name string) bool {
	for i := 0; i < len(name); {
		b := name[i]
		if b < utf8.RuneSelf {
			if b < 0x20 || b == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError || r <= 0x9f || (r >= 0xd800 && r <= 0xf8ff) || r >= 0xfff0 {
			return false
		}
		i += size
	}
	return true
}

// splitPath gives the parent's path and the last component. The parent of a
// top-level path, and of "/" itself, is "/". ok is false without a slash.
func splitPath(path string) (parent, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", "", false
	}
	if i == 0 {
		return "/", path[1:], true
	}
	return path[:i], path[i+1:], true
}

func hasNUL(path string) bool { return strings.IndexByte(path, 0) >= 0 }

// protected paths exist always: zkCli reads them.
func protected(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota":
		return true
	}
	return false
}
