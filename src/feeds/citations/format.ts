import type { OfferedCitation } from '../../storage/exchange/citation-copies.js'

/*
 * Rows of a citation on their way, version 1: text of lines, each ended by a line feed, compressed as one zstd frame with
 * its checksum.
 *
 *     {"fieldgate_citation":1,"node":…,"origin":…,"long_form":…,"checksum":…,"after":…,"rows":…}
 *     [<value of the first column>,…]
 *     …
 *
 * A row is an array of its values in the order of the columns. `after` rows came before it. When all have come, their
 * canonical text must have the SHA-256 of the citation.
 */

/** Version of the format. */
export const CITATION_VERSION = 1

/** First line of a body. */
export interface CitationHeader {
  /** UUID of the node that sends */
  readonly node: string
  /** UUID of the node that made the citation */
  readonly origin: string
  readonly long_form: string
  readonly checksum: string
  readonly after: number
  readonly rows: number
}

/** Column of a citation as nodes tell each other. */
export interface CitedColumn {
  readonly name: string
  /** as `columns` of `dataset.create` */
  readonly data_type: string
  /** as the canonical text has it */
  readonly type_text: string
  readonly nullable: boolean
}

/** Citation that a node offers to send. Times are µs UTC. */
export interface CitationOffer {
  /** UUID of the sender */
  readonly node: string
  readonly origin: string
  readonly long_form: string
  readonly short_form: string
  readonly dataset_name: string
  readonly dataset_realname: string
  readonly created_at_us: number
  readonly transaction_time_us: number
  readonly checksum: string
  readonly row_count: number
  readonly columns: readonly CitedColumn[]
  readonly key_columns: readonly string[]
}

/** Answer to an offer, and to rows. */
export interface CitationProgress {
  /** rows that the receiver has */
  readonly rows: number
  /** it can be read there */
  readonly complete: boolean
}

/** Offer whose columns have been checked, and the number of its rows. */
export interface CheckedOffer extends OfferedCitation {
  readonly rowCount: number
}
