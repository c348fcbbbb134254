import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, unlink } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../errors.js'
import {
  type BlobFacts,
  type BlobStore,
  type ByteRange,
  digestOf,
  requireDigest,
  writeSpooled,
} from '../blob-store.js'
import { bodyOf, type S3Client } from './client.js'
import { connectionFault, objectFault } from './faults.js'
import { createLocalCopies } from './local-copies.js'
import { readRange, unescapeXml, uploadFile } from './upload.js'

export interface S3StoreOptions {
  readonly client: S3Client
  /** begins the key of every object, such as `fieldgate/` */
  readonly prefix: string
  /** directory of bytes on their way, and of copies for threads */
  readonly tempDir: string
  /** size of the parts of a large upload, bytes; stores want 5 MiB at least */
  readonly partBytes: number
  /** most bytes of copies on this disk */
  readonly copyBytes: number
}

/** Bytes by digest in an S3-compatible store. */
export interface S3Store extends BlobStore {
  /** Returns an address under which anybody can read bytes for a time; the caller knows that they exist. */
  presign(sha256: string, lifeS: number): Promise<string>
  /** Puts a part of a file, which stays. @returns its digest. @throws AppError OBJECTS_UNAVAILABLE */
  putRange(file: string, range: ByteRange): Promise<string>
  /** Lists all bytes with the time at which they were put last, by the clock of the store, ms. */
  listAged(): AsyncIterable<AgedObject>
  /** Lists and writes in the bucket. @throws AppError OBJECTS_UNAVAILABLE that says what was found */
  check(): Promise<void>
}

/** Bytes with the time at which they were put last. */
export interface AgedObject {
  readonly sha256: string
  /** by the clock of the store, ms */
  readonly putAtMs: number
}

/** Times that a download goes on after it broke off. */
const RESUMES = 5

/**
 * Creates a blob store in a bucket. A key is made of the digest, and its bytes never change, so that a store whose
 * nodes disagree for a while can at worst lack them. Whether bytes exist is for the database to say: a store may show
 * removed ones again. Hence bytes are always put, also where they seem to be there.
 *
 * Bytes wait in a file until `keep`, which sends them: a request that failed can be repeated, and no upload takes memory.
 */
export function createS3Store(options: S3StoreOptions): S3Store {
  const { client, prefix, tempDir } = options
  const keyOf = (sha256: string) => `${prefix}${requireDigest(sha256)}`
  const copies = createLocalCopies(path.join(tempDir, 'copies'), options.copyBytes)
  const upload = async (file: string, facts: BlobFacts, start = 0) => {
    await uploadFile(client, keyOf(facts.sha256), { ...facts, path: file, start }, options.partBytes)
    await requireStored(client, keyOf(facts.sha256), facts.sizeBytes)
  }
  const move = async (file: string, facts: BlobFacts) => {
    await upload(file, facts)
    await unlink(file)
  }
  const open = async (sha256: string, range?: ByteRange) => {
    const stored = await sizeOf(client, keyOf(sha256))
    return stored === undefined
      ? undefined
      : readObject(client, { key: keyOf(sha256), sha256, stored, range })
  }
  const remove = async (sha256: string) => {
    await copies.remove(sha256)
    ;(await client.send({ method: 'DELETE', key: keyOf(sha256) }))?.resume()
  }
  return {
    async stage(source) {
      await mkdir(tempDir, { recursive: true, mode: 0o700 })
      const temp = path.join(tempDir, `${randomUUID()}.blob`)
      const facts = await writeSpooled(temp, source)
      return { ...facts, keep: () => move(temp, facts), drop: () => unlink(temp) }
    },
    stageFile: async (file, facts) => ({
      ...facts,
      keep: () => move(file, facts),
      drop: async () => undefined,
    }),
    async putRange(file, range) {
      const facts = await digestOf(readRange(file, range))
      await upload(file, facts, range.start)
      return facts.sha256
    },
    open,
    async stat(sha256) {
      const sizeBytes = await sizeOf(client, keyOf(sha256))
      return sizeBytes === undefined ? undefined : { sizeBytes }
    },
    localFile: (sha256) =>
      copies.path(requireDigest(sha256), async (file) => {
        const bytes = await open(sha256)
        if (bytes === undefined) return false
        await pipeline(bytes, createWriteStream(file, { mode: 0o600 }))
        return true
      }),
    remove,
    async quarantine(sha256) {
      const key = keyOf(sha256)
      const aside = `${prefix}quarantine/${sha256}.${randomUUID().slice(0, 8)}`
      const { bucket } = client
      const headers = { 'x-amz-copy-source': `/${bucket}/${key}` }
      const copied = await client.text({ method: 'PUT', key: aside, headers })
      if (copied !== undefined) await remove(sha256)
    },
    list: () => listDigests(client, prefix),
    listAged: () => listObjects(client, prefix),
    async check() {
      const probe = `${prefix}probe`
      await client.text({ method: 'GET', query: { 'list-type': '2', prefix: probe, 'max-keys': '1' } })
      ;(await client.send({ method: 'PUT', key: probe, body: bodyOf(Buffer.from('probe')) }))?.resume()
    },
    presign: (sha256, lifeS) => client.presign(keyOf(sha256), lifeS),
  }
}

/** @throws AppError OBJECTS_UNAVAILABLE when an object is not there whole after it was put */
async function requireStored(client: S3Client, key: string, sizeBytes: number): Promise<void> {
  const stored = await sizeOf(client, key)
  if (stored !== sizeBytes)
    throw objectFault(
      `found ${stored ?? 'no'} bytes of an object that was put, expected ${sizeBytes}`,
      'lasting',
    )
}

async function sizeOf(client: S3Client, key: string): Promise<number | undefined> {
  const answer = await client.send({ method: 'HEAD', key })
  if (answer === undefined) return undefined
  answer.resume()
  return Number(answer.headers['content-length'])
}

interface Reading {
  readonly key: string
  readonly sha256: string
  /** size of the object, bytes */
  readonly stored: number
  readonly range: ByteRange | undefined
}

/**
 * Reads an object, and goes on where a connection broke off.
 *
 * @throws AppError STORAGE_DAMAGED when a whole object does not have its digest, OBJECTS_UNAVAILABLE
 */
async function* readObject(
  client: S3Client,
  { key, sha256, stored, range }: Reading,
): AsyncGenerator<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: stored }
  const isWhole = start === 0 && end >= stored
  const hash = createHash('sha256')
  let at = start
  for (let left = RESUMES; at < end && left >= 0; left--) {
    const answer = await openFrom(client, { key, sha256, stored }, { start: at, end })
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        const wanted = chunk.subarray(0, end - at)
        at += wanted.length
        hash.update(wanted)
        yield wanted
      }
    } catch (error) {
      if (left === 0) throw connectionFault(error)
    }
  }
  if (at < end) throw objectFault(`found ${at - start} bytes, expected ${end - start}`, 'passing')
  const found = hash.digest('hex')
  if (isWhole && found !== sha256) throw damaged(sha256, `they have the digest ${found}`)
}

async function openFrom(client: S3Client, { key, sha256, stored }: Omit<Reading, 'range'>, range: ByteRange) {
  const headers = { range: `bytes=${range.start}-${range.end - 1}` }
  const answer = await client.send({ method: 'GET', key, headers })
  if (answer === undefined) throw damaged(sha256, 'they were removed while they were read')
  const isPart = range.start > 0 || range.end < stored
  if (answer.statusCode === 206 || !isPart) return answer
  answer.destroy()
  // a store that leaves the header aside: its bytes would be taken for others
  throw objectFault('found a whole object, expected a range of it', 'lasting')
}

function damaged(sha256: string, what: string): AppError {
  return new AppError(
    'STORAGE_DAMAGED',
    {},
    { message: `The object store has other bytes for ${sha256}: ${what}` },
  )
}

/** Returns all objects with their times, in the order of their digests, some thousand a request. */
async function* listObjects(client: S3Client, prefix: string): AsyncGenerator<AgedObject> {
  for await (const xml of listPages(client, prefix))
    for (const [, contents = ''] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
      const [, key = ''] = /<Key>([^<]*)<\/Key>/.exec(contents) ?? []
      const [, putAt = ''] = /<LastModified>([^<]*)<\/LastModified>/.exec(contents) ?? []
      const sha256 = unescapeXml(key).slice(prefix.length)
      if (/^[0-9a-f]{64}$/.test(sha256)) yield { sha256, putAtMs: Date.parse(putAt) }
    }
}

async function* listDigests(client: S3Client, prefix: string): AsyncGenerator<string> {
  for await (const { sha256 } of listObjects(client, prefix)) yield sha256
}

/** Returns the names of the folders below a prefix, without their slash. */
export async function* listFolders(client: S3Client, prefix: string): AsyncGenerator<string> {
  for await (const xml of listPages(client, prefix))
    for (const [, folder = ''] of xml.matchAll(/<CommonPrefixes>\s*<Prefix>([^<]*)<\/Prefix>/gs))
      yield unescapeXml(folder).slice(prefix.length, -1)
}

async function* listPages(client: S3Client, prefix: string): AsyncGenerator<string> {
  let token: string | undefined
  do {
    const query = {
      'list-type': '2',
      prefix,
      delimiter: '/', // quarantined ones are below one
      ...(token === undefined ? {} : { 'continuation-token': token }),
    }
    const xml = (await client.text({ method: 'GET', query })) ?? ''
    yield xml
    token = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(xml)?.[1]
    if (token !== undefined) token = unescapeXml(token)
  } while (token !== undefined)
}
