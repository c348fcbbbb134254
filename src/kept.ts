/**
 * Makes a value with the first call, and keeps it. Calls that come meanwhile wait for the same one; after a failure the next
 * call tries again.
 */
export function kept<T>(make: () => T | Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined
  return () => {
    making ??= Promise.resolve()
      .then(make)
      .catch((error: unknown) => {
        making = undefined
        throw error
      })
    return making
  }
}
