import type { ReadHandler } from '../../src/worker/read-host.js'
import type { Readers } from '../../src/worker/reader-pool.js'

/** Runs reads in the thread of the test. Payloads are copied as they are between threads. */
export function inlineReaders(handlers: Readonly<Record<string, ReadHandler>>): Readers {
  return {
    async read(name, payload, { signal }) {
      const handler = handlers[name]
      if (handler === undefined) throw new Error(`no read is named ${name}`)
      const cancel = new Int32Array(new SharedArrayBuffer(4))
      const work = { cancel, signal: signal ?? new AbortController().signal }
      const { head, text } = await handler(structuredClone(payload), work)
      const chunks = text[Symbol.asyncIterator]()
      const iterator: AsyncIterableIterator<string> = {
        next: () => chunks.next(),
        return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
        [Symbol.asyncIterator]: () => iterator,
      }
      return { head, text: iterator }
    },
  }
}
