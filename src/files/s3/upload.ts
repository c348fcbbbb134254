import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { ByteRange } from '../blob-store.js'
import type { Body, S3Client } from './client.js'
import { bodyOf } from './client.js'
import { objectFault } from './faults.js'

/** Bytes of a file, or a stretch of them. */
interface Source {
  readonly path: string
  /** where they begin in the file */
  readonly start: number
  readonly sizeBytes: number
}

/**
 * Uploads a file, in parts where it is large. Parts are read from the file, so that none is held in memory, and any
 * can be sent again. The store compares each with its MD5.
 *
 * @param file with the MD5 of its bytes, hex
 * @throws AppError OBJECTS_UNAVAILABLE; nothing is left behind then but what the store could not abort
 */
export async function uploadFile(
  client: S3Client,
  key: string,
  file: Source & { readonly md5: string },
  partBytes: number,
): Promise<void> {
  const { path, start, sizeBytes } = file
  if (sizeBytes <= partBytes) {
    const md5 = Buffer.from(file.md5, 'hex').toString('base64')
    const body = fileBody(path, { start, end: start + sizeBytes }, md5)
    await finish(client, { method: 'PUT', key, body })
    return
  }
  const uploadId = textOf('UploadId', await client.text({ method: 'POST', key, query: { uploads: '' } }))
  try {
    await uploadParts(client, { key, uploadId }, file, partBytes)
  } catch (error) {
    // the first error counts; lists of the store show what could not be aborted
    await finish(client, { method: 'DELETE', key, query: { uploadId } }).catch(() => undefined)
    throw error
  }
}

async function uploadParts(
  client: S3Client,
  { key, uploadId }: { readonly key: string; readonly uploadId: string },
  { path, start, sizeBytes }: Source,
  partBytes: number,
): Promise<void> {
  const tags: string[] = []
  const fileEnd = start + sizeBytes
  for (let at = start; at < fileEnd; at += partBytes) {
    const part = { start: at, end: Math.min(fileEnd, at + partBytes) }
    const query = { partNumber: String(tags.length + 1), uploadId }
    const body = fileBody(path, part, await md5Of(path, part))
    const answer = await client.send({ method: 'PUT', key, query, body })
    answer?.resume()
    const { etag } = answer?.headers ?? {}
    if (etag === undefined) throw objectFault('found no ETag of a part, expected one', 'lasting')
    tags.push(etag)
  }
  const parts = tags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
  )
  const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const answer = await client.text({
    method: 'POST',
    key,
    query: { uploadId },
    body: bodyOf(Buffer.from(xml)),
  })
  // a store may begin its answer before it has put the parts together, and fail in it
  if (answer === undefined || !answer.includes('<CompleteMultipartUploadResult'))
    throw objectFault(
      `found ${answer?.slice(0, 200) ?? 'no upload'}, expected one that is complete`,
      'lasting',
    )
}

/** Sends a request whose answer has no body of interest. */
async function finish(client: S3Client, request: Parameters<S3Client['send']>[0]): Promise<void> {
  const answer = await client.send(request)
  answer?.resume()
}

function fileBody(path: string, range: ByteRange, md5: string): Body {
  return { length: range.end - range.start, md5, open: () => readRange(path, range) }
}

/** Reads a part of a file. */
export function readRange(path: string, { start, end }: ByteRange): AsyncIterable<Uint8Array> {
  // an empty range has no last byte
  return end === start ? nothing() : createReadStream(path, { start, end: end - 1 })
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // no bytes
}

async function md5Of(path: string, range: ByteRange): Promise<string> {
  const hash = createHash('md5')
  for await (const chunk of readRange(path, range)) hash.update(chunk)
  return hash.digest('base64')
}

/** Text of an element of XML. @throws AppError OBJECTS_UNAVAILABLE when there is none */
export function textOf(name: string, xml: string | undefined): string {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml ?? '')?.[1]
  if (found === undefined)
    throw objectFault(`found ${JSON.stringify(xml?.slice(0, 200))}, expected ${name}`, 'lasting')
  return unescapeXml(found)
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Resolves the entities of XML, `&amp;` last. */
export function unescapeXml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')
}
