import { messageOf } from '../../errors.js'
import type { Log } from '../../log.js'
import type { Membership, ProfileItem } from '../../storage/exchange/membership.js'
import { shorten } from '../../sync/faults.js'
import type { UpstreamClient } from '../../sync/http-client.js'
import { itemNameOf, type WantedFile } from '../profile/files.js'
import { type FetchFileDeps, type FetchProgress, fetchFile } from './fetch-file.js'

export interface FetcherDeps extends FetchFileDeps {
  /** Holds a file that is installed already, as after a restore. @returns false for one that is not, or is another */
  adopt(file: WantedFile): Promise<boolean>
  connect(membership: Membership): UpstreamClient
  /** called when files came: the profile that waits for them can be applied */
  onFetched(): void
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Downloads of the files of profiles, one after another, while reports go on. */
export interface FileFetcher {
  /**
   * Downloads what is not held, unless that is under way; a download that is not wanted any more ends.
   *
   * @returns one item for each file that is not here yet
   */
  prepare(membership: Membership, wanted: readonly WantedFile[]): Promise<ProfileItem[]>
  /** Returns how far the download of a missing file is, or why the last attempt failed. */
  progressOf(sha256: string): string
  /** Removes what is held and what is unfinished of other files. */
  keepOnly(wanted: readonly WantedFile[]): Promise<void>
  /** Ends the running download; its bytes stay. */
  stop(): Promise<void>
}

/** A download under way. */
interface Running {
  readonly digests: ReadonlySet<string>
  readonly stopping: AbortController
  readonly progress: Map<string, FetchProgress>
  ended: Promise<void>
}

/** Creates the downloads of a member. */
export function createFileFetcher(deps: FetcherDeps): FileFetcher {
  const { held, parts } = deps
  /** digest → why the last attempt failed */
  const faults = new Map<string, string>()
  let running: Running | undefined
  let isStopped = false
  const stop = async () => {
    running?.stopping.abort()
    await running?.ended
  }
  const missingOf = async (wanted: readonly WantedFile[]) => {
    const missing: WantedFile[] = []
    for (const file of wanted)
      if ((await held.stat(file.sha256)) === undefined && !(await deps.adopt(file))) missing.push(file)
    return missing
  }
  return {
    async prepare(membership, wanted) {
      const missing = await missingOf(wanted)
      const digests = new Set(missing.map(({ sha256 }) => sha256))
      if (running !== undefined && !isEqual(running.digests, digests)) {
        // what has come since is no reason to begin again
        const isLess = [...digests].every((sha256) => running?.digests.has(sha256))
        if (!isLess) await stop()
      }
      if (running === undefined && digests.size > 0 && !isStopped) {
        const started: Running = {
          ...{ digests, stopping: new AbortController(), progress: new Map() },
          ended: Promise.resolve(),
        }
        running = started
        started.ended = fetchAll(deps, membership, started, faults).finally(() => {
          running = undefined
        })
      }
      const progress = running?.progress
      return missing.map((file) => itemOf(file, progress?.get(file.sha256), faults.get(file.sha256)))
    },
    progressOf: (sha256) => reasonOf(running?.progress.get(sha256), faults.get(sha256)),
    async keepOnly(wanted) {
      const kept = new Set(wanted.map(({ sha256 }) => sha256))
      if (running !== undefined && ![...running.digests].every((sha256) => kept.has(sha256))) await stop()
      for await (const sha256 of held.list()) if (!kept.has(sha256)) await held.remove(sha256)
      for (const sha256 of await parts.list()) if (!kept.has(sha256)) await parts.remove(sha256)
    },
    async stop() {
      isStopped = true
      await stop()
    },
  }
}

/** Downloads the files of one profile, as far as it goes; faults are noted and tried again with the next report. */
async function fetchAll(
  deps: FetcherDeps,
  membership: Membership,
  { digests, stopping: { signal }, progress }: Running,
  faults: Map<string, string>,
): Promise<void> {
  const client = deps.connect(membership)
  let fetched = 0
  try {
    for (const sha256 of digests) {
      if (signal.aborted) return
      const mine: FetchProgress = { bytes: 0, totalBytes: null }
      progress.set(sha256, mine)
      try {
        await fetchFile(deps, client, sha256, mine, signal)
        faults.delete(sha256)
        fetched++
        deps.log.info({ sha256, bytes: mine.totalBytes }, 'a file of the profile came')
      } catch (error) {
        if (signal.aborted) return
        const reason = shorten(messageOf(error))
        if (faults.get(sha256) !== reason)
          deps.log.warn({ sha256, reason }, 'a file of the profile did not come')
        faults.set(sha256, reason)
      }
    }
  } finally {
    await client.close()
  }
  if (fetched > 0) deps.onFetched()
}

function itemOf(
  file: WantedFile,
  progress: FetchProgress | undefined,
  fault: string | undefined,
): ProfileItem {
  const state = fault === undefined ? 'waiting' : 'refused'
  return { item: itemNameOf(file), state, reason: reasonOf(progress, fault) }
}

function reasonOf(progress: FetchProgress | undefined, fault: string | undefined): string {
  const of = progress?.totalBytes == null ? '' : ` of ${progress.totalBytes}`
  return fault ?? `${progress?.bytes ?? 0}${of} bytes of the file are here`
}

function isEqual(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every((one) => right.has(one))
}
