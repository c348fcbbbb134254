import { messageOf } from '../errors.js'
import { encodeRows, offerOf } from '../feeds/citations/send.js'
import type { CitedState } from '../storage/datasets/citations.js'
import type { BundledFeed } from '../storage/exchange/bundles.js'
import type { FeedRecord } from '../storage/exchange/feeds.js'
import { partLine } from './content/parts.js'
import { type Budget, type PackedFeeds, spend } from './packed.js'

/** Dependencies of packing citations. */
export interface PackCitationsDeps {
  /** UUID of this node */
  readonly nodeId: string
  findCitation(label: string): Promise<CitedState | undefined>
}

/**
 * Packs a citation: its offer, then the rows that the receiver does not have, as far as it told.
 *
 * @param longForm of the citation
 * @param before what the last bundle held, to go on after it
 */
export async function* packCitation(
  deps: PackCitationsDeps,
  { record, longForm }: { record: FeedRecord; longForm: string },
  { before, budget, packed }: { before: readonly BundledFeed[]; budget: Budget; packed: PackedFeeds },
): AsyncGenerator<Uint8Array> {
  const found = await deps.findCitation(longForm)
  const citation = found?.info.longForm === longForm ? found : undefined
  const offer = citation === undefined ? 'it was deleted here' : offered(citation, deps.nodeId)
  if (citation === undefined || typeof offer === 'string')
    return void packed.refused.push(`${longForm}: ${offer}`)
  const { feedId, progress } = record
  const earlier = before.find(({ feed, table }) => feed === feedId && table === offer.checksum)
  const after = Math.min(Math.max(progress.cursor, earlier?.last ?? 0), offer.row_count)
  const begin = spend(budget, partLine('citation', { feed: feedId, after, offer }))
  if (begin === undefined) return void packed.cut.push(longForm)
  yield begin
  let last = after
  const held = () => ({ feed: feedId, table: offer.checksum, epoch: 0, after, last, scanned: last })
  while (last < offer.row_count) {
    const { body, rows } = await encodeRows(citation, offer, last, NEVER)
    const part = Buffer.concat([partLine('rows', { after: last, rows }, body.byteLength), body])
    if (spend(budget, part) === undefined) {
      packed.feeds.push(held())
      return void packed.cut.push(longForm)
    }
    yield part
    packed.rows += rows
    last += rows
  }
  packed.feeds.push(held())
}

const NEVER = new AbortController().signal

/** Returns the offer of a citation, or why there is none. */
function offered(citation: CitedState, nodeId: string) {
  try {
    return offerOf(citation, nodeId) ?? 'its checksum is being computed: the next bundle brings it'
  } catch (error) {
    return messageOf(error)
  }
}
