import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'

/** A model on disk. */
export interface ModelFiles {
  /** path below the model, with slashes → SHA-256, hex; in the order of the code points of the paths */
  readonly files: ReadonlyMap<string, string>
  /** name of a model that is one file; undefined for a directory */
  readonly singleName: string | undefined
}

/**
 * Reads and hashes the files of a model. A directory is read with everything below it.
 *
 * @param isIgnored decides by the path below the model; an ignored directory is not entered
 * @throws Error for links, devices and sockets: nothing outside the model may be signed with it
 */
export async function readModelFiles(
  model: string,
  isIgnored: (relativePath: string) => boolean,
): Promise<ModelFiles> {
  const found = await lstat(model)
  if (found.isFile()) {
    const singleName = path.basename(model)
    return { files: new Map([[singleName, await digestFile(model)]]), singleName }
  }
  if (!found.isDirectory()) throw notPlain(model)
  const names = await listBelow(model, '', isIgnored)
  const files = new Map<string, string>()
  for (const name of names.sort(byCodePoint)) files.set(name, await digestFile(path.join(model, name)))
  return { files, singleName: undefined }
}

async function listBelow(
  model: string,
  folder: string,
  isIgnored: (relativePath: string) => boolean,
): Promise<string[]> {
  const names: string[] = []
  for (const entry of await readdir(path.join(model, folder), { withFileTypes: true })) {
    const name = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (isIgnored(name)) continue
    if (entry.isDirectory()) names.push(...(await listBelow(model, name, isIgnored)))
    else if (entry.isFile()) names.push(name)
    else throw notPlain(path.join(model, name))
  }
  return names
}

async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(chunk)
  return hash.digest('hex')
}

/** Order of UTF-8 bytes, by which other programs list files. */
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function notPlain(file: string): Error {
  return new Error(`${file}: found neither a file nor a directory, and links are not followed`)
}
