import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { rowRights } from '../../api/dataset/context.js'
import type { Caller } from '../../auth/caller.js'
import {
  EXPORT_READ,
  type ExportHead,
  type ExportRead,
  type SentFormat,
} from '../../datasets/export-reads.js'
import type { Readers } from '../../worker/reader-pool.js'

interface ExportRequest {
  readonly label: string
  readonly format: SentFormat
  /** JSON text; null for all rows */
  readonly conds: string | null
  readonly order: readonly string[]
  readonly caller: Caller
  readonly signal: AbortSignal
}

/** Returns a function that has a reader thread make the file of an export. */
export function exportsByReaders(readers: Readers) {
  return async ({ label, format, conds, order, caller, signal }: ExportRequest) => {
    const query = order.length === 0 ? {} : { order }
    const read: ExportRead = { label, format, query, conds, may: rowRights(caller) }
    const { head, text } = await readers.read(EXPORT_READ, read, { signal, owner: caller.keyId })
    const { name, file } = head as ExportHead // made by `exportReads`
    if (file === null) return { name, text }
    await drain(text)
    return {
      name,
      file: { ...file, bytes: bytesOf(file.path), remove: () => rm(file.path, { force: true }) },
    }
  }
}

/** Ends the job of a read whose text is empty. */
async function drain(text: string | AsyncIterable<string>): Promise<void> {
  if (typeof text === 'string') return
  const parts = text[Symbol.asyncIterator]()
  while ((await parts.next()).done !== true);
}

async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(file)) yield chunk as Uint8Array
}
