/**
 * Work in slices: wherever it yields, other work may be done before it goes on. A slice is one search or so, some
 * milliseconds; what a slice leaves in scratch that others share is not looked at in the next one.
 */
export type Sliced<T> = Generator<undefined, T, undefined>

/** Does all slices in one go. */
export function runAtOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const slice = work.next()
    if (slice.done === true) return slice.value
  }
}
