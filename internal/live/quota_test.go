package live

import "testing"

func TestQuotaLevels(t *testing.T) {
	want := []quotaLevel{
		{"/config/users/u/clients/c", "user u, client c"},
		{"/config/users/u/clients/<default>", "user u, client c"},
		{"/config/users/u", "user u"},
		{"/config/users/<default>/clients/c", "user u, client c"},
		{"/config/users/<default>/clients/<default>", "user u, client c"},
		{"/config/users/<default>", "user u"},
		{"/config/clients/c", "client c"},
		{"/config/clients/<default>", "client c"},
	}
	for i, got := range quotaLevels("u", "c") {
		if got != want[i] {
			t.Errorf("level %d: %v, want %v", i, got, want[i])
		}
	}
}

func TestSanitize(t *testing.T) {
	for name, want := range map[string]string{"": "", "a-B_9.x": "a-B_9.x", "a b/c*": "a%20b%2Fc%2A", "ä~": "%C3%A4%7E"} {
		if got := sanitize(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
