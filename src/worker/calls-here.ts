import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CallOptions, WorkerClient } from './client.js'
import type { WorkHandler } from './host.js'
import { CANCEL_ASKED } from './protocol.js'

/** Runs the work of a thread in this one: for work that waits for a database most of the time, and yields. */
export function callsHere(handlers: Readonly<Record<string, WorkHandler>>): Pick<WorkerClient, 'call'> {
  return {
    async call<R>(
      name: string,
      payload: unknown,
      { signal, onEvent, owner = '' }: CallOptions = {},
    ): Promise<R> {
      const handler = handlerOf(handlers, name)
      await nextTurn() // others have their turn between two steps
      const emit = (event: unknown) => onEvent?.(event)
      return (await handler(payload, { cancel: flagOf(signal), owner, nextTurn, emit })) as R
    },
  }
}

/** Makes the flag by which a caller cancels work. */
function flagOf(signal: AbortSignal | undefined): Int32Array {
  const cancel = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const ask = () => void Atomics.store(cancel, 0, CANCEL_ASKED)
  if (signal?.aborted === true) ask()
  signal?.addEventListener('abort', ask, { once: true })
  return cancel
}

function handlerOf<H>(handlers: Readonly<Record<string, H>>, name: string): H {
  const handler = handlers[name]
  if (handler === undefined)
    throw new Error(`found the work ${name}, expected one of ${Object.keys(handlers).join(', ')}`)
  return handler
}
