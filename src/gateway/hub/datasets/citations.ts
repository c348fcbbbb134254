import { AppError, isAppError } from '../../../errors.js'
import type { CheckedOffer } from '../../../feeds/citations/format.js'
import { type CitationReceiver, createCitationReceiver } from '../../../feeds/citations/receive.js'
import type { S3Store } from '../../../files/s3/store.js'
import type { Log } from '../../../log.js'
import type { CitationCopies } from '../../../storage/exchange/citation-copies.js'
import { readTogether } from '../../../storage/postgres/connection/read-together.js'
import type { CitationObject, CitationObjects } from '../../../storage/postgres/feeds/citation-objects.js'
import type { SweepLease } from '../../../storage/work/sweep-lease.js'
import { createTurnstile } from '../../exchange/turnstile.js'
import type { createArrivingCopies } from './arriving.js'
import { packCitation, unpackCitation } from './citation-object.js'

interface SharedCitationsOptions {
  /** the database of this process, from which citations are read */
  readonly own: CitationCopies
  readonly arriving: ReturnType<typeof createArrivingCopies>
  readonly rows: CitationObjects
  /** objects of the bucket */
  readonly bytes: S3Store
  /** keeps a sweep from an object whose row is not written yet */
  readonly lease: Pick<SweepLease, 'keep'>
  readonly log: Pick<Log, 'error'>
  readonly valueBytes: number
  /** Checks an offer. @throws AppError INVALID_PARAMS */
  readOffer(json: unknown): { node: string; offer: CheckedOffer }
  newId(): string
  /** µs UTC */
  nowUs(): number
}

/** Citations of other nodes, which all processes of a hub have. */
interface SharedCitations {
  /** A citation is complete once its object is in the bucket and the database names it. */
  readonly copies: CitationCopies
  /**
   * Takes the citations that are complete by then, of all processes.
   *
   * @throws AppError DATABASE_UNAVAILABLE, OBJECTS_UNAVAILABLE, DISK_FULL
   */
  refresh(): Promise<void>
  /** Ends after the citation that is being taken. */
  stop(): Promise<void>
}

/** Errors after which a citation is taken again: its object is as it should be. */
const PASSING: ReadonlySet<string> = new Set([
  ...['DATABASE_UNAVAILABLE', 'OBJECTS_UNAVAILABLE', 'DISK_FULL', 'BUSY', 'TIME_LIMIT'],
])

/**
 * Shares citations between processes. Each takes all of them, in the order in which they were completed, into its own
 * database of SQLite, where they are read by the code of a gateway.
 *
 * @param archived long forms of the citations that a move has brought, which every process has
 */
export function shareCitations(
  options: SharedCitationsOptions,
  archived: readonly string[],
): SharedCitations {
  const { own, arriving, rows, bytes, lease, log, readOffer } = options
  const here = new Set(archived)
  const receiver = receiverHere(options)
  let [last, isStopping] = [0, false]
  // what takes writes to the database of this process
  const oneAtATime = createTurnstile()
  const take = async ({ origin, longForm, sha256 }: Omit<CitationObject, 'seq'>) => {
    if (here.has(longForm)) return
    await own.abandon({ origin, longForm }) // of an attempt that failed
    const found = await bytes.open(sha256)
    if (found === undefined)
      throw new AppError('STORAGE_DAMAGED', {}, { message: 'found no object with its rows' })
    await unpackCitation({ receiver, readOffer }, found)
    here.add(longForm)
  }
  const takeNew = async () => {
    for (const object of await rows.after(last)) {
      if (isStopping) break
      try {
        await take(object)
      } catch (error) {
        if (isAppError(error) && PASSING.has(error.errorName)) throw error
        log.error({ err: error, citation: object.longForm }, 'a citation of another node cannot be read')
      }
      last = object.seq
    }
    return new Map<string, never>()
  }
  const refreshTogether = readTogether(() => oneAtATime(takeNew))
  const refresh = async () => void (await refreshTogether(''))
  // a start does not wait for what the first read would wait for
  const first = refresh().catch((error: unknown) =>
    log.error({ err: error }, 'citations of other nodes could not be taken at the start'),
  )
  const publish = async (longForm: string) => {
    if (here.has(longForm)) return // another call was first
    const citation = await arriving.findComplete(longForm)
    const origin = citation?.info.origin
    if (citation === undefined || origin == null)
      throw new Error(`found no rows of the citation ${longForm} that was completed`) // it was just found
    const staged = await bytes.stage(packCitation(citation))
    const object = { origin, longForm, sha256: staged.sha256 }
    const release = await lease.keep()
    try {
      await staged.keep()
      await rows.complete(object)
    } finally {
      await release()
    }
    arriving.drop(longForm)
    await refresh()
    await oneAtATime(() => take(object)) // the object was there before, and damaged
  }
  return {
    refresh,
    async stop() {
      isStopping = true
      await first
    },
    copies: {
      ...arriving,
      async open(offer, id, nowUs) {
        await refresh()
        if (here.has(offer.longForm)) return await own.open(offer, id, nowUs)
        await rows.claim(offer, nowUs)
        const progress = await arriving.open(offer, id, nowUs)
        if (progress.isComplete) await publish(offer.longForm) // its store was away
        return progress
      },
      async finish(offer, sums) {
        await arriving.finish(offer, sums)
        await publish(offer.longForm)
      },
    },
  }
}

/** Receiver of what other processes have stored: it asks nobody, and knows no keys. */
function receiverHere({ own, valueBytes, newId, nowUs }: SharedCitationsOptions): CitationReceiver {
  const senders = {
    find: async () => ({ nodeId: undefined, otherKeyId: null }),
    bind: async () => undefined,
  }
  const requireSpace = async () => undefined
  return createCitationReceiver({
    ...{ copies: own, senders, nodeId: '', valueBytes, requireSpace, newId, nowUs },
  })
}
