import { type Caller, isAllowed } from '../auth/caller.js'
import { AppError, messageOf } from '../errors.js'
import { MAX_BATCH_BYTES } from '../feeds/batch/format.js'
import type { CheckedOffer } from '../feeds/citations/format.js'
import type { CitationReceiver } from '../feeds/citations/receive.js'
import type { BundleRows } from '../storage/exchange/bundles.js'
import type { CopyKey } from '../storage/exchange/citation-copies.js'
import type { NodePeer } from '../storage/exchange/node-keys.js'
import { type FeedResult, noScope, OF_FEED } from './apply-feeds.js'
import { bodyOf, type Part } from './content/parts.js'
import { CitationHead, RowsHead, readAs } from './schema.js'

/** Dependencies of taking citations. */
export interface ApplyCitationsDeps {
  /** Returns the receiver of the citations of a node. */
  citationReceiverOf(node: NodePeer): CitationReceiver
  /** Checks an offer. @throws AppError INVALID_PARAMS */
  readCitationOffer(json: unknown): { node: string; offer: CheckedOffer }
  /** Returns whether a citation is here, or some of its rows. */
  isHere(key: CopyKey): Promise<boolean>
  readonly bundles: Pick<BundleRows, 'noteCitation'>
}

/** Takes the citations of a bundle, part by part. */
export interface CitationTaker {
  /** Begins a citation. */
  open(part: Part): Promise<void>
  /** Takes rows of the citation that was opened last. */
  take(part: Part): Promise<void>
  /** Ends the last citation, and notes for the next bundle how much of each is here. @returns what became of each */
  end(): Promise<FeedResult[]>
}

/** A citation that is being taken. */
interface OpenCitation {
  readonly feed: string
  offer: CheckedOffer | undefined
  /** rows that are here */
  rows: number
  isComplete: boolean
  written: number
  batches: number
  known: number
  keptOut: string | null
  isGap: boolean
}

/** Begins to take the citations of a bundle. @param of `isOld` for a bundle that was written before one that was taken */
export function takeCitations(
  deps: ApplyCitationsDeps,
  node: NodePeer,
  of: { isOld: boolean; caller: Caller },
): CitationTaker {
  const all: OpenCitation[] = []
  const { caller, isOld } = of
  const receiver = deps.citationReceiverOf(node)
  const step = async (one: OpenCitation, work: () => Promise<void>) => {
    if (one.keptOut !== null) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof AppError) || !OF_FEED.has(error.errorName)) throw error
      one.keptOut = messageOf(error)
    }
  }
  return {
    async open(part) {
      const head = readAs(CitationHead, part.head, 'citation')
      const one: OpenCitation = {
        ...{ feed: head.feed, offer: undefined, rows: 0, isComplete: false, isGap: false },
        ...{ written: 0, batches: 0, known: 0, keptOut: null },
      }
      all.push(one)
      await step(one, async () => {
        const { node: sender, offer } = deps.readCitationOffer(head.offer)
        one.offer = offer
        if (!isAllowed(caller.scopes, 'sync:write')) throw noScope(node)
        if (isOld && !(await deps.isHere(offer))) {
          one.keptOut = 'the bundle is older than another one that was applied, and the citation is not here'
          return
        }
        const { rows, complete } = await receiver.offer(caller, sender, offer)
        Object.assign(one, { rows, isComplete: complete })
        if (!complete && rows < head.after) noteGap(one, head.after)
      })
    },
    async take(part) {
      const one = all.at(-1)
      if (one?.offer === undefined || one.keptOut !== null) return // what is not read is passed over
      await step(one, () => takeRows(receiver, caller, one, part))
    },
    async end() {
      for (const { offer, rows, isComplete, isGap, keptOut } of all)
        if (offer !== undefined && (keptOut === null || isGap))
          await deps.bundles.noteCitation(node.nodeId, {
            ...{ longForm: offer.longForm, checksum: offer.checksum, isGap },
            rows: isComplete ? offer.rowCount : rows,
          })
      return all.map(({ feed, offer, written, batches, known, keptOut }) => ({
        ...{ feed, table: offer?.longForm ?? '', written, batches, known, keptOut },
      }))
    },
  }
}

async function takeRows(
  receiver: CitationReceiver,
  caller: Caller,
  one: OpenCitation,
  part: Part,
): Promise<void> {
  const { after, rows } = readAs(RowsHead, part.head, 'rows')
  if (one.isComplete || after + rows <= one.rows) return void one.known++
  if (after !== one.rows) return noteGap(one, after)
  const answer = await receiver.take(caller, one.offer?.checksum ?? '', await bodyOf(part, MAX_BATCH_BYTES))
  one.written += answer.rows - one.rows
  one.batches++
  Object.assign(one, { rows: answer.rows, isComplete: answer.complete })
}

function noteGap(one: OpenCitation, after: number): void {
  one.isGap = true
  one.keptOut =
    `it goes on after row ${after}, but ${one.rows} rows are here: ` +
    'apply the bundle before it first, or send one back, and the next one begins there'
}
