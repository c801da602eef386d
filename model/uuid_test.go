package model

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUuid(t *testing.T) {
	id, err := ParseUuid("rtBgFbOnTTKPZhpq2GdxWg")
	if err != nil || id != (Uuid{0xae, 0xd0, 0x60, 0x15, 0xb3, 0xa7, 0x4d, 0x32, 0x8f, 0x66, 0x1a, 0x6a, 0xd8, 0x67, 0x71, 0x5a}) {
		t.Errorf("%x, %v", id, err)
	}
	for text, want := range map[string]string{
		"rtBgFbOnTTKPZhpq2GdxWg==": "rtBgFbOnTTKPZhpq2GdxWg", // padding is taken
		"_-BgFbOnTTKPZhpq2GdxWA":   "_-BgFbOnTTKPZhpq2GdxWA",
		"_-BgFbOnTTKPZhpq2GdxWD":   "_-BgFbOnTTKPZhpq2GdxWA", // surplus bits are dropped
		"AAAAAAAAAAAAAAAAAAAAAA":   "AAAAAAAAAAAAAAAAAAAAAA",
	} {
		if got, err := ParseUuid(text); err != nil || got.String() != want {
			t.Errorf("%q is %v, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "0 bytes", "zz": "1 bytes", "rtBgFbOnTTKPZhpq2Gdx": "15 bytes", "rtBgFbOnTTKPZhpq2GdxWgAA": "18 bytes", "r": "not base64", "rtBgFbOnTTKPZhpq2GdxWg=": "not base64",
		"rtBgFbOnTTKPZhpq2GdxW+": "not base64", "rtBgFbOnTTKPZhpq2Gdx/g": "not base64", "rtBgFbOnTTKPZhpq2GdxWg=x": "not base64", "rtBgFbOnTTKPZhpq2GdxW\n": "not base64",
		"rtBgFbOnTTKPZhpq2GdxWgrtBgF": "longer than", strings.Repeat("A", 5000): "…",
	} {
		if got, err := ParseUuid(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%q is %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestUuidReserved(t *testing.T) {
	for text, want := range map[string]bool{"AAAAAAAAAAAAAAAAAAAAAA": true, "AAAAAAAAAAAAAAAAAAAAAQ": true, "-tBgFbOnTTKPZhpq2GdxWg": true, "_tBgFbOnTTKPZhpq2GdxWg": false, "rtBgFbOnTTKPZhpq2GdxWg": false} {
		id, err := ParseUuid(text)
		if err != nil || id.Reserved() != want || id.IsZero() != (text == Uuid{}.String()) {
			t.Errorf("%s: reserved %v, zero %v, %v", text, id.Reserved(), id.IsZero(), err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := Uuid(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		back, err := ParseUuid(id.String())
		if err != nil || back != id || len(id.String()) != 22 {
			t.Fatalf("%v comes back as %v, %v", id, back, err)
		}
		if strings.HasPrefix(id.String(), "-") && !id.Reserved() {
			t.Fatalf("%v begins with a dash", id)
		}
	})
}
