// Package ask is the tools that put a question to a person: ask_user for words,
// exit_plan for the approval that ends plan mode.
//
//	model ──ask_user──▶ People.Ask ──▶ journal, surfaces ──▶ a person
//	      ◀─the answer, "nobody is there", "they would not say"─┘
//	                  turn stopped ──▶ voided: stopped, never a refusal
//
// There is no time limit: a person may take a day. A question that an interrupt
// withdraws ends its call as stopped, and its text says that nobody refused.
//
// # What it never does
//
// It draws nothing, keeps no question (the session does), reads silence as
// nothing but silence, starts no goroutine, and does not decide what plan mode
// allows (package gate does).
package ask
