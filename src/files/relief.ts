import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Bytes that pass between two collections. V8 counts the buffers of a stream as memory outside its heap and lets some
 * 64 MB of dead ones pile up before it looks at them; on a board with 512 MB that is too much.
 */
const RELIEF_BYTES = 8 * 1024 * 1024

/** Each so many collections one takes the older garbage too: buffers that were on their way when a young one came. */
const FULL_EVERY = 12

type Collect = (options: { type: 'minor' | 'major' }) => void

let collect: Collect | undefined
let passedBytes = 0
let collections = 0

/** Tells that bytes of a stream have passed; now and then garbage is collected: the youngest in 1 ms, all of it in some 20 ms. */
export function relieve(bytes: number): void {
  passedBytes += bytes
  if (passedBytes < RELIEF_BYTES) return
  passedBytes = 0
  collect ??= exposeCollector()
  collect({ type: ++collections % FULL_EVERY === 0 ? 'major' : 'minor' })
}

/** The collector is handed out only to contexts that are made while the flag is set. */
function exposeCollector(): Collect {
  setFlagsFromString('--expose-gc')
  const found = runInNewContext('gc') as Collect
  setFlagsFromString('--no-expose-gc')
  return found
}
