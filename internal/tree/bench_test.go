package tree

import (
	"strings"
	"testing"
)

func BenchmarkLoad(b *testing.B) {
	text := largeTree(b, 1000, 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSurvey(b *testing.B) {
	f, err := Load(strings.NewReader(largeTree(b, 1000, 100)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		SurveyFile(f)
	}
}
