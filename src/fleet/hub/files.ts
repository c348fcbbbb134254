import { AppError, messageOf } from '../../errors.js'
import type { BlobStore, ByteRange } from '../../files/blob-store.js'
import { comparedBytes } from '../../files/compared-bytes.js'
import type { FleetFile, FleetFiles } from '../../storage/exchange/fleet.js'
import type { SweepLease } from '../../storage/work/sweep-lease.js'
import { parseStatement } from '../../update/statement.js'
import { filesOf, releasesOf } from '../profile/files.js'
import type { Profile } from '../profile/schema.js'

export interface HubFilesDeps {
  readonly files: FleetFiles
  readonly blobs: BlobStore
  /** excludes backups and removals of other processes */
  readonly lease: SweepLease
}

/** Files without a row that a sweep removes at any size of the store: the rest of interrupted commands. */
const FEW_FILES = 10

/**
 * Keeps a file for profiles.
 *
 * @throws AppError DISK_FULL; Error for an empty file
 */
export async function addFile(
  { files, blobs, lease }: HubFilesDeps,
  name: string,
  source: AsyncIterable<Uint8Array>,
): Promise<FleetFile> {
  const staged = await blobs.stage(source)
  const { sha256, sizeBytes } = staged
  if (sizeBytes === 0) {
    await staged.drop()
    throw new Error(`${name}: found no bytes, expected a map, a module or a release`)
  }
  // no sweep removes the bytes before their row is written
  const release = await lease.keep()
  try {
    await staged.keep()
    return await files.add({ sha256, name, sizeBytes })
  } finally {
    await release()
  }
}

/**
 * Removes a file that no profile names.
 *
 * @returns the file
 * @throws Error for an unknown digest, and while a version that gateways have or can get names it
 */
export async function removeFile(deps: HubFilesDeps, sha256: string): Promise<FleetFile> {
  const removed = await deps.files.remove(sha256)
  if (removed === undefined) throw new Error(unknownText(sha256))
  const { file, namedBy } = removed
  if (namedBy !== null)
    throw new Error(
      `the profile ${namedBy.name} names ${file.name} (${sha256}) in version ${namedBy.version}: gateways have or can get it; set versions without it first`,
    )
  await sweepFiles(deps)
  return file
}

/**
 * Removes bytes that no row names, unless a backup runs. More than a few stay: the database is not the one
 * that they belong to.
 *
 * @returns the number of removed files
 */
export async function sweepFiles({ files, blobs, lease }: HubFilesDeps): Promise<number> {
  const removal = await lease.remove()
  if (removal === undefined) return 0
  try {
    const named = new Set((await files.list()).map(({ sha256 }) => sha256))
    const unnamed: string[] = []
    for await (const sha256 of blobs.list()) if (!named.has(sha256)) unnamed.push(sha256)
    if (unnamed.length > FEW_FILES) return 0
    for (const sha256 of unnamed) {
      await removal.confirm()
      await blobs.remove(sha256)
    }
    return unnamed.length
  } finally {
    await removal.release()
  }
}

/**
 * Refuses a profile that names a file which this hub does not have, or a release with the signature of another one.
 *
 * @throws AppError UNKNOWN_DIGEST, BAD_SIGNATURE
 */
export async function requireFiles(files: Pick<FleetFiles, 'find'>, profile: Profile): Promise<void> {
  for (const release of releasesOf(profile)) {
    const fault = signatureFault(release)
    const path = `releases.${release.target}.signature`
    if (fault !== undefined) throw new AppError('BAD_SIGNATURE', { path }, { message: `${path}: ${fault}` })
  }
  for (const { path, sha256 } of filesOf(profile))
    if ((await files.find(sha256)) === undefined)
      throw new AppError('UNKNOWN_DIGEST', { sha256, path }, { message: `${path}: ${unknownText(sha256)}` })
}

/** Returns why a signature is not that of its release. Whose it is, gateways check: they have the key. */
function signatureFault({
  target,
  version,
  digest,
  signature,
}: ReturnType<typeof releasesOf>[number]): string | undefined {
  try {
    const signed = parseStatement(signature)
    if (signed.target !== target) return `found a release for ${signed.target}, expected one for ${target}`
    if (signed.version !== version) return `found version ${signed.version}, expected ${version}`
    if (signed.sha256 !== digest) return `found that of the file ${signed.sha256}, expected ${digest}`
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** A file of the hub, opened on demand. */
interface HubFile {
  readonly sha256: string
  readonly sizeBytes: number
  /** Opens a half-open range; a reading of the whole fails before the last bytes when the digest is another one. */
  open(range: ByteRange): Promise<AsyncIterableIterator<Uint8Array>>
}

/**
 * Finds a file for a caller.
 *
 * @param profiles that allow it; undefined for an operator, who may read every file
 * @throws AppError FORBIDDEN for a file that the profiles do not name, UNKNOWN_DIGEST, FILE_DAMAGED
 */
export async function findFile(
  { files, blobs }: Pick<HubFilesDeps, 'files' | 'blobs'>,
  sha256: string,
  profiles: readonly Profile[] | undefined,
): Promise<HubFile> {
  if (profiles !== undefined && !profiles.some((profile) => names(profile, sha256))) {
    const message = `The profile of this gateway does not name the file ${sha256}`
    throw new AppError('FORBIDDEN', { scope: 'fleet:member' }, { message })
  }
  const file = await files.find(sha256)
  if (file === undefined) throw new AppError('UNKNOWN_DIGEST', { sha256 }, { message: unknownText(sha256) })
  const damaged = (reason: string) => {
    const message = `The file ${sha256} of the hub is damaged: ${reason}; \`fieldgate fleet file add\` puts it back`
    return new AppError('FILE_DAMAGED', { sha256 }, { message, cause: new Error(reason) })
  }
  const found = await blobs.stat(sha256)
  if (found?.sizeBytes !== file.sizeBytes)
    throw damaged(`found ${found?.sizeBytes ?? 'no'} bytes, expected ${file.sizeBytes}`)
  return {
    sha256,
    sizeBytes: file.sizeBytes,
    async open(range) {
      const bytes = await blobs.open(sha256, range)
      if (bytes === undefined) throw damaged('found no bytes')
      const isWhole = range.start === 0 && range.end === file.sizeBytes
      return isWhole ? comparedBytes(bytes, sha256, async (reason) => damaged(reason)) : bytes
    },
  }
}

function names(profile: Profile, sha256: string): boolean {
  return filesOf(profile).some((file) => file.sha256 === sha256)
}

function unknownText(sha256: string): string {
  return `found the digest ${sha256}, expected that of a file of this hub: \`fieldgate fleet file list\` prints them`
}
