package proc

// noteStatus asks the kernel for the exit status with the exit.
const noteStatus = 0x04000000
