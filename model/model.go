package model

import (
	"context"
	"iter"

	"github.com/ripcord-go/ripcord/event"
)

// Model answers one request with one ordered stream. It keeps no history,
// never retries, and is safe for concurrent use.
type Model interface {
	// Info says what is asked, for the journal and for people.
	Info() Info
	// Stream sends req and yields the answer's deltas as they arrive. It ends
	// after one [event.Finish], or by yielding one error last: an [*Error], or
	// the context's cause when ctx ended. Fragments are yielded as they come,
	// cut only between runes. When ctx ends the connection is closed at once
	// (MOD-03) and Stream returns. Breaking off the loop does the same.
	Stream(ctx context.Context, req Request) iter.Seq2[event.Delta, error]
}

// Info identifies a model.
type Info struct {
	Provider string // "openai-chat", "scripted", …
	Model    string
	BaseURL  string // without credentials
	Why      string // how it was chosen, for people (MOD-05)
}

// Request is everything a model is asked with.
type Request struct {
	System   string
	Messages []event.Message
	Tools    []event.ToolSchema
	Params   event.ModelParams
	// Activity, if not nil, is called whenever bytes of the body arrive, also
	// for those that make no delta (keep-alive comments). It must not block.
	Activity func(bytes int)
	// Blob fetches a referenced image or file; nil if the request holds none.
	Blob func(ctx context.Context, ref event.BlobRef) ([]byte, error)
}

// Error is a model call's failure: the [event.Failure] is what is recorded and
// shown, Err what lay below, never shown to a model.
type Error struct {
	event.Failure
	Err error
}

func (e *Error) Unwrap() error { return e.Err }
