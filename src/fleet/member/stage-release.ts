import { createReadStream, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../errors.js'
import { type BlobStore, digestOf, syncFolder } from '../../files/blob-store.js'
import { makeDirectory } from '../../files/layout.js'
import { linkInPlace } from '../../files/link-file.js'
import type { Log } from '../../log.js'
import type { ProfileItem } from '../../storage/exchange/membership.js'
import { shorten } from '../../sync/faults.js'
import { acceptStatement, requireNewer } from '../../update/accept.js'
import { readRegular, stagedPaths } from '../../update/staged.js'
import { MAX_SIGNATURE_CHARS, type Statement } from '../../update/statement.js'
import { itemNameOf, releasesOf } from '../profile/files.js'
import type { Profile, ProfileRelease } from '../profile/schema.js'

export interface ReleaseDeps {
  /** why this gateway takes no releases; null when it does */
  readonly refusal: string | null
  /** value of `update.publicKey` */
  readonly publicKey: string | undefined
  /** such as `linux-x64`: that of this machine */
  readonly target: string
  /** version of this program */
  readonly running: string
  /** where a release waits to be installed */
  readonly dir: string
  /** complete downloads */
  readonly held: Pick<BlobStore, 'localFile' | 'remove'>
  /** Returns why a release was rolled back on this machine; undefined when it was not. @throws Error */
  rolledBack(sha256: string): string | undefined
  /** Returns how far the download of a file is. */
  progressOf(sha256: string): string
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Releases of profiles on this gateway: they are checked and staged, and an operator installs them. */
export interface ReleaseStage {
  /**
   * Stages the release of a profile, once it was downloaded; removes that of a former one. What cannot be taken
   * says why: nothing is thrown, so that the other parts of the profile go on.
   *
   * @returns one item where the profile has a release for this machine
   */
  stage(profile: Pick<Profile, 'releases'>): Promise<ProfileItem[]>
  /** Removes what is staged. */
  drop(): Promise<void>
}

type Found = Omit<ProfileItem, 'item'>

/** Creates the staging of releases. */
export function createReleaseStage(deps: ReleaseDeps): ReleaseStage {
  /** stamp of the staged file whose digest was compared by this process */
  const compared = { stamp: '' }
  const drop = () => dropStaged(deps.dir)
  return {
    drop,
    async stage(profile) {
      const item = itemNameOf({ kind: 'release', name: deps.target })
      const wanted = releasesOf(profile).find(({ target }) => target === deps.target)
      try {
        if (wanted !== undefined) return [{ item, ...(await take(deps, wanted, compared)) }]
        await drop()
      } catch (error) {
        const reason = shorten(`it could not be staged: ${messageOf(error)}`)
        deps.log.warn({ reason }, 'a release of the hub could not be staged')
        if (wanted !== undefined) return [{ item, state: 'waiting', reason }]
      }
      return []
    },
  }
}

async function take(deps: ReleaseDeps, wanted: ProfileRelease, compared: { stamp: string }): Promise<Found> {
  const { dir, held, running } = deps
  const statement = acceptWanted(deps, wanted)
  if (typeof statement === 'string') {
    await dropStaged(dir)
    return { state: 'refused', reason: shorten(statement) }
  }
  if (statement.version === running) {
    await dropStaged(dir)
    return { state: 'applied', reason: null }
  }
  // what is staged stays: an operator may try it again
  const failed = deps.rolledBack(statement.sha256)
  if (failed !== undefined) return { state: 'rolled_back', reason: shorten(failed) }
  const staged: Found = {
    state: 'staged',
    reason: `version ${statement.version} waits for \`fieldgate update --staged\``,
  }
  if (await isStaged(dir, wanted.signature, statement, compared)) return staged
  const source = await held.localFile(statement.sha256)
  if (source === undefined) return { state: 'waiting', reason: deps.progressOf(statement.sha256) }
  const { size } = statSync(source)
  if (size !== statement.sizeBytes) {
    const reason = `found a file of ${size} bytes, expected ${statement.sizeBytes} as signed`
    return { state: 'refused', reason }
  }
  await putStaged(dir, source, wanted.signature)
  await held.remove(statement.sha256)
  compared.stamp = stampOf(stagedPaths(dir).release) ?? ''
  const { version, sha256 } = statement
  deps.log.info({ audit: true, act: 'release-staged', version, sha256 }, 'a release of the hub is staged')
  return staged
}

/** Checks a release before it is downloaded. @returns its signed statement, or why it is refused */
function acceptWanted(
  { refusal, publicKey, target, running }: ReleaseDeps,
  { version, digest, signature }: ProfileRelease,
): Statement | string {
  if (refusal !== null) return refusal
  try {
    const statement = acceptStatement(signature, publicKey, target)
    if (statement.version !== version)
      return `found the signature of version ${statement.version}, expected that of ${version}`
    if (statement.sha256 !== digest)
      return `found the signature of the file ${statement.sha256}, expected that of ${digest}`
    if (version !== running) requireNewer(statement, running)
    return statement
  } catch (error) {
    return messageOf(error)
  }
}

/** Reports whether a release is staged, whole; its digest is compared once in each process. */
async function isStaged(
  dir: string,
  signature: string,
  { sizeBytes, sha256 }: Statement,
  compared: { stamp: string },
): Promise<boolean> {
  const { release, signature: file } = stagedPaths(dir)
  if (readRegular(file, MAX_SIGNATURE_CHARS) !== signature) return false
  const stamp = stampOf(release)
  if (stamp === undefined || statSync(release).size !== sizeBytes) return false
  if (stamp === compared.stamp) return true
  if ((await digestOf(createReadStream(release))).sha256 !== sha256) return false
  compared.stamp = stamp
  return true
}

function stampOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.ino}:${found.size}:${found.mtimeMs}:${found.ctimeMs}`
}

/** Stages a release. At every moment the signature belongs to the file beside it, or is not there. */
async function putStaged(dir: string, source: string, signature: string): Promise<void> {
  makeDirectory(dir)
  await dropStaged(dir)
  const paths = stagedPaths(dir)
  await linkInPlace(source, paths.release)
  const temp = `${paths.signature}.part`
  await rm(temp, { force: true })
  const handle = await open(temp, 'wx', 0o600)
  try {
    await handle.writeFile(signature)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temp, paths.signature)
  await syncFolder(path.dirname(paths.signature))
}

/** Removes a staged release, its signature first. */
async function dropStaged(dir: string): Promise<void> {
  const { release, signature } = stagedPaths(dir)
  for (const file of [signature, release]) {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) continue
    await rm(file, { recursive: true, force: true })
    await syncFolder(dir)
  }
}
