package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/ripcord-go/ripcord/api"
	"github.com/ripcord-go/ripcord/config"
	"github.com/ripcord-go/ripcord/event"
	"github.com/ripcord-go/ripcord/journal"
	"github.com/ripcord-go/ripcord/model"
)

// usagef is an error of whoever typed the command.
func usagef(hint, format string, args ...any) error {
	return &api.Error{Code: event.FailUsage, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// configf is an error in settings.
func configf(hint, format string, args ...any) error {
	return &api.Error{Code: event.FailConfig, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// later refuses what this version does not have yet.
func later(what, instead string) error {
	return &api.Error{Code: codeUnsupported, Message: what + " is not in this version; it comes later", Hint: instead}
}

// explain brings any error into the one shape that is printed and mapped to an
// exit code.
func explain(err error) *api.Error {
	var ae *api.Error
	if errors.As(err, &ae) {
		return ae
	}
	var me *model.Error
	if errors.As(err, &me) {
		return &api.Error{Code: me.Code, Message: me.Message, Hint: me.Hint, Err: err}
	}
	var ce *config.Error
	if errors.As(err, &ce) {
		return &api.Error{Code: event.FailConfig, Message: ce.Message, Hint: ce.Hint, Err: err}
	}
	var busy *journal.BusyError
	var damaged *journal.DamagedError
	var future *journal.FutureError
	code, hint := event.FailInternal, ""
	switch {
	case errors.As(err, &busy):
		return &api.Error{Code: event.FailBusy, Message: err.Error(), Owner: &api.OwnerInfo{PID: busy.Owner.PID, Host: busy.Owner.Host}, Err: err}
	case errors.As(err, &damaged):
		code = event.FailDamaged
	case errors.As(err, &future):
		code = codeFuture
	case errors.Is(err, journal.ErrNotFound):
		code, hint = codeNotFound, "see `ripcord sessions list`"
	case errors.Is(err, os.ErrPermission):
		code, hint = event.FailStorage, "ask who owns the file, or set RIPCORD_HOME to a folder of your own"
	case errors.Is(err, journal.ErrStorage):
		code, hint = event.FailStorage, "make room or mend the disk, then try again"
	}
	return &api.Error{Code: code, Message: err.Error(), Hint: hint, Err: err}
}

// info is the error as IFC-01 shows it.
func info(e *api.Error) *api.ErrorInfo {
	return &api.ErrorInfo{Code: string(e.Code), Message: e.Message, Hint: e.Hint}
}
