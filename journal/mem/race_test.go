//go:build race

package mem_test

const stride = 7 * 31 // the sweeps look for no races
