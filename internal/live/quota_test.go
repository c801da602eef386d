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
