//go:build !race

package mem_test

const stride = 1 // every bit
