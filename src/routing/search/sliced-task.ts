/**
 * A long computation as a generator: it yields between slices of some milliseconds (one search or so), and
 * whoever drives it may run other work there. Scratch memory that tasks share is valid only within one slice.
 * It yields 'turn' where it cannot go on before the event loop has turned: it waits for a message.
 */
export type SlicedTask<T> = Generator<undefined | 'turn', T, undefined>

/**
 * Runs all slices of a task without a pause. Not for tasks that wait for messages.
 *
 * @returns the result of the task; errors of the task are passed on
 */
export function runToEnd<T>(task: SlicedTask<T>): T {
  for (;;) {
    const slice = task.next()
    if (slice.done === true) return slice.value
  }
}
