// Command guardeval prints how the stream loop guard comes out on its labelled
// corpus: by kind how many streams it stopped, how many bytes of repetition it
// let pass first, and which came out wrong; then recall, false alarms and
// speed.
//
//	go run ./internal/guardeval
//	go run ./internal/guardeval -tree DIR   # also every text file below DIR, as innocent
//
// It exits with 1 if recall is below 0.98, if there is a false alarm in the
// corpus, or if a verdict depends on how the stream was cut. It starts no
// goroutine.
package main
