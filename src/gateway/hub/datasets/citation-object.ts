import type { Caller } from '../../../auth/caller.js'
import { bodyOf, partLine, readParts } from '../../../bundles/content/parts.js'
import { MAX_BATCH_BYTES } from '../../../feeds/batch/format.js'
import type { CheckedOffer } from '../../../feeds/citations/format.js'
import type { CitationReceiver } from '../../../feeds/citations/receive.js'
import { encodeRows, offerOf } from '../../../feeds/citations/send.js'
import type { CitedState } from '../../../storage/datasets/citations.js'

const NEVER = new AbortController().signal

/**
 * Yields the bytes of the object of a citation: its offer and its rows as they go over the network, in parts as those
 * of a bundle. The same citation has the same bytes at each process.
 */
export async function* packCitation(citation: CitedState): AsyncGenerator<Uint8Array> {
  const { longForm, origin } = citation.info
  const offer = offerOf(citation, origin ?? '')
  if (offer === undefined) throw new Error(`found the citation ${longForm} without a checksum`) // copies have theirs
  yield partLine('citation', { offer })
  for (let after = 0; after < offer.row_count; ) {
    const { body, rows } = await encodeRows(citation, offer, after, NEVER)
    yield Buffer.concat([partLine('rows', { after, rows }, body.byteLength), body])
    after += rows
  }
  yield partLine('end', {})
}

interface Unpacking {
  readonly receiver: CitationReceiver
  /** Checks an offer. @throws AppError INVALID_PARAMS */
  readOffer(json: unknown): { node: string; offer: CheckedOffer }
}

/** The object was stored by a process of this hub, which has judged its sender. */
const ITSELF: Caller = { keyId: '', keyName: '', scopes: ['admin'], sessionId: null, endsAtUs: null }

/** Takes a citation from the bytes of its object. @throws Error for other bytes; AppError as the receiver */
export async function unpackCitation(
  { receiver, readOffer }: Unpacking,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  let checksum: string | undefined
  let isComplete = false
  for await (const part of readParts(piecesOf(bytes))) {
    if (part.head.part === 'citation') {
      const { node, offer } = readOffer(part.head.offer)
      checksum = offer.checksum
      isComplete = (await receiver.offer(ITSELF, node, offer)).complete
    } else if (!isComplete && checksum !== undefined) {
      const answer = await receiver.take(ITSELF, checksum, await bodyOf(part, MAX_BATCH_BYTES))
      isComplete = answer.complete
    }
  }
  if (!isComplete) throw new Error('found an object that ends before the last row of its citation')
}

async function* piecesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes
}
