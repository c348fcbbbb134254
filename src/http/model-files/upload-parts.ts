import type { Readable } from 'node:stream'
import type { Busboy, BusboyConfig } from 'busboy'
import { AppError } from '../../errors.js'

interface PartLimits {
  maxFileBytes: number
  maxDataBytes: number
  /** longest signature part */
  maxSignatureBytes: number
  /** most parts that are read; a valid upload has two or three */
  maxParts: number
}

/** Results of the takers. */
export interface TakenParts<D, S> {
  data: D
  staged: S
  /** text of the part `signature`; absent in most uploads */
  signature?: string
}

/** Receivers of the parts. */
interface PartTakers<D, S> {
  /** takes the JSON part. What it throws ends the upload before the file is read to its end */
  takeData(bytes: Uint8Array): D | Promise<D>
  /** takes the file while it arrives */
  takeFile(source: AsyncIterable<Uint8Array>): Promise<S>
}

/** Limits of the headers and the name of one part. */
const PART_HEAD = { headerPairs: 100, fieldNameSize: 100 }

/**
 * Reads `multipart/form-data` with a part `data`, a part `file` and an optional part `signature`, in any
 * order, while it arrives.
 *
 * @throws AppError BAD_UPLOAD (which part is missing, doubled, unknown or cut off), BODY_TOO_LARGE,
 *   UNSUPPORTED_MEDIA_TYPE, and what the chunks and the takers throw. A taken file is then passed to
 *   `onLost`.
 */
export async function readParts<D, S>(
  chunks: AsyncIterable<Uint8Array>,
  contentType: string,
  limits: PartLimits,
  takers: PartTakers<D, S>,
  onLost: (staged: S) => Promise<void>,
): Promise<TakenParts<D, S>> {
  const { default: busboy } = await import('busboy') // most gateways never need it
  const parser = createParser(busboy, contentType, limits)
  const intake = collectParts(parser, limits, takers)
  try {
    await feed(chunks, parser, intake.refused)
    await Promise.race([intake.closed, intake.refused])
    return await Promise.race([intake.result(), intake.refused])
  } catch (error) {
    parser.destroy()
    const staged = await intake.abandon()
    if (staged !== undefined) await onLost(staged)
    throw error
  }
}

function createParser(
  busboy: (config: BusboyConfig) => Busboy,
  contentType: string,
  limits: PartLimits,
): Busboy {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType)) {
    const found = contentType === '' ? 'none' : contentType.slice(0, 100)
    const message = `Content-Type: found ${found}, expected multipart/form-data`
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', {}, { message })
  }
  try {
    // a file of exactly `fileSize` counts as too large
    const sizes = {
      fileSize: limits.maxFileBytes + 1,
      fieldSize: Math.max(limits.maxDataBytes, limits.maxSignatureBytes) + 1,
    }
    const parts = limits.maxParts
    const counts = { parts, files: parts, fields: parts }
    return busboy({ headers: { 'content-type': contentType }, limits: { ...PART_HEAD, ...counts, ...sizes } })
  } catch {
    throw badUpload('found a content type without a boundary, expected multipart/form-data; boundary=…')
  }
}

/** Writes the body into the parser, as fast as the parser reads it. */
async function feed(
  chunks: AsyncIterable<Uint8Array>,
  parser: Busboy,
  refused: Promise<never>,
): Promise<void> {
  for await (const chunk of chunks) {
    if (parser.destroyed) return
    if (parser.write(chunk)) continue
    let onDrain: () => void = () => undefined
    const drained = new Promise<void>((resolve) => {
      onDrain = resolve
      parser.once('drain', onDrain)
    })
    try {
      await Promise.race([drained, refused])
    } finally {
      parser.off('drain', onDrain)
    }
  }
  parser.end()
}

interface Intake<D, S> {
  /** rejects with the first fault */
  refused: Promise<never>
  closed: Promise<void>
  result(): Promise<TakenParts<D, S>>
  /** ends the reading. @returns the staged file, if there is one */
  abandon(): Promise<S | undefined>
}

function collectParts<D, S>(parser: Busboy, limits: PartLimits, takers: PartTakers<D, S>): Intake<D, S> {
  let data: Promise<D> | undefined
  let signature: Promise<string> | undefined
  let file: { stream: Readable; staged: Promise<S> } | undefined
  let refuse: (error: unknown) => void = () => undefined
  const refused = new Promise<never>((_, reject) => {
    refuse = reject
  })
  refused.catch(() => undefined) // it is awaited elsewhere; a fault after the end concerns nobody
  const guarded = (work: () => void) => {
    try {
      work()
    } catch (error) {
      refuse(error)
    }
  }
  const takeSmall = (name: string, read: (part: string, maxBytes: number) => Promise<Uint8Array>) => {
    if (name === 'data') {
      if (data !== undefined) throw badUpload('found two parts data, expected one')
      data = read(name, limits.maxDataBytes).then(takers.takeData)
      data.catch(refuse)
    } else {
      if (signature !== undefined) throw badUpload('found two parts signature, expected at most one')
      signature = read(name, limits.maxSignatureBytes).then((bytes) => Buffer.from(bytes).toString())
      signature.catch(refuse)
    }
  }
  const takeFile = (stream: Readable) => {
    if (file !== undefined) throw badUpload('found two parts file, expected one')
    stream.on('limit', () => refuse(tooLarge('file', limits.maxFileBytes)))
    file = { stream, staged: takers.takeFile(stream) }
    file.staged.catch(refuse)
  }
  parser.on('field', (name, value) =>
    guarded(() => {
      if (name === 'file')
        throw badUpload('found a part file without a filename, expected a file (curl -F file=@model.dat)')
      if (!isSmall(name)) throw unknownPart(name)
      takeSmall(name, async (part, maxBytes) => withinLimit(Buffer.from(value, 'utf8'), part, maxBytes))
    }),
  )
  parser.on('file', (name, stream) => {
    stream.on('error', () => undefined) // the parser reports the same fault
    guarded(() => {
      if (name === 'file') takeFile(stream)
      else if (isSmall(name)) takeSmall(name, (part, maxBytes) => readSmall(stream, part, maxBytes))
      else {
        stream.resume()
        throw unknownPart(name)
      }
    })
  })
  watchEnd(parser, refuse)
  return {
    refused,
    closed: new Promise((resolve) => {
      parser.on('close', resolve)
    }),
    async result() {
      if (file === undefined) throw badUpload('found no part file, expected one (curl -F file=@model.dat)')
      if (data === undefined) throw badUpload('found no part data, expected one holding a JSON object')
      const taken = { data: await data, staged: await file.staged }
      return signature === undefined ? taken : { ...taken, signature: await signature }
    },
    async abandon() {
      file?.stream.destroy(new Error('the upload was refused'))
      return await file?.staged.catch(() => undefined)
    },
  }
}

/** True for the parts that are held in memory. */
function isSmall(name: string | undefined): name is 'data' | 'signature' {
  return name === 'data' || name === 'signature'
}

/** Refuses parts beyond the limits, which the parser skips silently. */
function watchEnd(parser: Busboy, refuse: (error: unknown) => void): void {
  for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
    parser.on(limit, () =>
      refuse(
        badUpload('found more parts, expected one part data, one part file and at most one part signature'),
      ),
    )
  parser.on('error', () => {
    refuse(badUpload('found the end of the body within a part, expected the closing boundary'))
  })
}

/** Reads a small part that was sent as a file, as `curl -F data=@request.json` does. */
async function readSmall(stream: Readable, part: string, maxBytes: number): Promise<Uint8Array> {
  const held: Uint8Array[] = []
  let total = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength
    if (total <= maxBytes) held.push(chunk)
  }
  if (total > maxBytes) throw tooLarge(part, maxBytes)
  return Buffer.concat(held)
}

function withinLimit(bytes: Uint8Array, part: string, maxBytes: number): Uint8Array {
  if (bytes.byteLength > maxBytes) throw tooLarge(part, maxBytes)
  return bytes
}

function badUpload(what: string): AppError {
  return new AppError('BAD_UPLOAD', {}, { message: `Bad upload: ${what}` })
}

function unknownPart(name: string | undefined): AppError {
  const shown = name === undefined ? 'without a name' : JSON.stringify(name.slice(0, 100))
  return badUpload(`found a part ${shown}, expected data, file and signature`)
}

function tooLarge(part: string, maxBytes: number): AppError {
  const message = `The part ${part} has more than ${maxBytes} bytes`
  return new AppError('BODY_TOO_LARGE', { part, maxBytes }, { message })
}
