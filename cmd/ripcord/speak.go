package main

import (
	"io"

	"github.com/ripcord-go/ripcord/model"
	"github.com/ripcord-go/ripcord/model/anthropic"
	"github.com/ripcord-go/ripcord/model/openai"
)

// closingModel is a model whose idle connections end with Close.
type closingModel interface {
	model.Model
	io.Closer
}

// speak turns a choice into the driver of its wire. The scripted model is
// asked over chat completions, and takes its own reasoning back.
func speak(c model.Choice) (closingModel, error) {
	cfg := openai.Config{BaseURL: c.BaseURL, Key: c.Key, KeyVar: c.KeyVar, Model: c.Model, Provider: c.Provider, Why: c.Why,
		Echo: c.Provider == model.Scripted}
	switch c.Provider {
	case model.Anthropic:
		return anthropic.New(anthropic.Config{BaseURL: c.BaseURL, Key: c.Key, KeyVar: c.KeyVar, Model: c.Model, Provider: c.Provider, Why: c.Why})
	case model.OpenAIResponses:
		return openai.NewResponses(cfg)
	}
	return openai.New(cfg)
}
