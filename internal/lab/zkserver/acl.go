package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// identity is one thing that a connection has proved to be.
type identity struct{ scheme, id string }

// caller is who asks: a connection's session and identities, or the process
// itself, which may do everything.
type caller struct {
	session int64
	ids     []identity
	trusted bool
}

var inProcess = &caller{trusted: true}

// aclList is a list shared by all znodes that have the same one.
type aclList struct {
	entries []ACL
	open    bool // OpenACL: no need to look further
	bytes   int  // what it adds to each znode in Limits.Bytes; 0 when open
}

// maxSharedACLs bounds the table of shared lists. When it is full it starts
// anew; znodes keep the lists they have.
const maxSharedACLs = 4096

func (s *Store) internACL(entries []ACL) *aclList {
	var key strings.Builder
	for _, a := range entries {
		key.WriteString(strconv.Itoa(int(a.Perms)))
		key.WriteByte(' ')
		key.WriteString(a.Scheme)
		key.WriteByte(0)
		key.WriteString(a.ID)
		key.WriteByte(0)
	}
	if l, ok := s.acls[key.String()]; ok {
		return l
	}
	if len(s.acls) >= maxSharedACLs {
		clear(s.acls)
	}
	l := &aclList{entries: slices.Clone(entries), open: slices.Equal(entries, OpenACL)}
	if !l.open {
		l.bytes = key.Len()
	}
	s.acls[key.String()] = l
	return l
}

// acceptACL turns an asked list into the stored one: auth entries become the
// caller's digest identities, repeated entries go. nil is InvalidACL.
func (s *Store) acceptACL(c *caller, asked []ACL) *aclList {
	if asked == nil {
		asked = OpenACL
	}
	if slices.Equal(asked, OpenACL) {
		return s.internACL(OpenACL)
	}
	var out []ACL
	add := func(a ACL) {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, a := range asked {
		if a.Scheme != "auth" {
			if !validID(a.Scheme, a.ID) {
				return nil
			}
			add(a)
			continue
		}
		found := false
		for _, id := range c.ids {
			if id.scheme == "digest" {
				found = true
				add(ACL{Perms: a.Perms, Scheme: id.scheme, ID: id.id})
			}
		}
		if !found {
			return nil
		}
	}
	if len(out) == 0 {
		return nil
	}
	return s.internACL(out)
}

func validID(scheme, id string) bool {
	switch scheme {
	case "world":
		return id == "anyone"
	case "digest":
		parts := strings.Split(id, ":")
		for len(parts) > 0 && parts[len(parts)-1] == "" { // Java's split leaves them out
			parts = parts[:len(parts)-1]
		}
		return len(parts) == 2
	case "ip":
		_, ok := parseIP(id)
		return ok
	}
	return false
}

// parseIP reads a.b.c.d with an optional /bits. The numbers may have leading
// zeros, as for Java.
func parseIP(id string) (netip.Prefix, bool) {
	addr, bits, found := strings.Cut(id, "/")
	var bytes [4]byte
	parts := strings.Split(addr, ".")
	if len(parts) != len(bytes) {
		return netip.Prefix{}, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 255 {
			return netip.Prefix{}, false
		}
		bytes[i] = byte(n)
	}
	n := 32
	if found {
		var err error
		if n, err = strconv.Atoi(bits); err != nil || n < 0 || n > 32 {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(netip.AddrFrom4(bytes), n), true
}

// may tells whether the caller has one of the permissions in perms.
func (s *Store) may(c *caller, l *aclList, perms int32) bool {
	if l.open || c.trusted {
		return true
	}
	for _, id := range c.ids {
		if id.scheme == "super" {
			return true
		}
	}
	for _, a := range l.entries {
		if a.Perms&perms != 0 && c.matches(a) {
			return true
		}
	}
	return false
}

func (c *caller) matches(a ACL) bool {
	if a.Scheme == "world" {
		return true
	}
	for _, id := range c.ids {
		if id.scheme != a.Scheme {
			continue
		}
		if id.id == a.ID {
			return true
		}
		if a.Scheme == "ip" {
			net, ok := parseIP(a.ID)
			peer, err := netip.ParseAddr(id.id)
			if ok && err == nil && net.Contains(peer.Unmap()) {
				return true
			}
		}
	}
	return false
}

// Digest is the id of a digest identity: user:base64(sha1(user:password)). A
// credential without a colon is all user.
func Digest(credential string) string {
	user, _, _ := strings.Cut(credential, ":")
	sum := sha1.Sum([]byte(credential))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// authenticate adds an identity to the caller; false for an unknown scheme.
func (s *Store) authenticate(c *caller, scheme string, blob []byte) bool {
	var id identity
	switch scheme {
	case "digest":
		id = identity{"digest", Digest(string(blob))}
		if id.id == s.opt.SuperDigest {
			c.addIdentity(identity{"super", ""})
		}
	case "ip":
		return true // the connection has it already
	default:
		return false
	}
	c.addIdentity(id)
	return true
}

func (c *caller) addIdentity(id identity) {
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
}

// masked hides the hashes of digest entries from those who may not administer.
func masked(entries []ACL) []ACL {
	out := slices.Clone(entries)
	for i, a := range out {
		if user, _, found := strings.Cut(a.ID, ":"); found && a.Scheme == "digest" {
			out[i].ID = user + ":x"
		}
	}
	return out
}
