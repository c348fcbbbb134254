/** Part of a feed that a bundle holds. */
export interface BundledFeed {
  /** UUID of the feed */
  readonly feed: string
  /** UUID of its table; SHA-256 of a citation, whose rows are numbered as changes are */
  readonly table: string
  readonly epoch: number
  /** change after which it begins */
  readonly after: number
  /** change with which it ends */
  readonly last: number
  /** change up to which no further row was found for the receiver */
  readonly scanned: number
}

/** Contents of a bundle for its receiver. */
export interface BundleContents {
  readonly feeds: readonly BundledFeed[]
  /** transfers of models */
  readonly transfers: readonly number[]
}

/** A bundle that this node has written. */
export interface WrittenBundle {
  /** number among all bundles of this node */
  readonly seq: number
  /** UUID */
  readonly bundleId: string
  /** UUID of the node that it is for */
  readonly nodeId: string
  readonly writtenAtUs: number
  /** null while it is being written */
  readonly contents: BundleContents | null
  readonly acknowledgedAtUs: number | null
}

/** Which bundle of another node it is. */
export interface BundleMark {
  /** UUID of the node that wrote it */
  readonly nodeId: string
  readonly bundleId: string
  /** incarnation of the data there */
  readonly epoch: number
  /** its number there */
  readonly seq: number
}

/** A feed of another node that begins after what is here. */
export interface FeedGap {
  readonly feed: string
  /** UUID of the bundle in which it was found */
  readonly bundle: string
  /** last change that is here */
  readonly cursor: number
}

/** A row of another node that was refused for good. */
export interface RefusedChange {
  readonly feed: string
  /** UUID of the table there */
  readonly table: string
  readonly epoch: number
  /** number of the change there */
  readonly change: number
  readonly reason: string
}

/** A model of another node that came in a bundle. */
export interface ModelReceipt {
  /** number of the transfer there */
  readonly transfer: number
  /** id of the model there */
  readonly modelId: string
  /** JSON text of the model_info here */
  readonly answer: string
}

/** Part of a citation of another node that is here. */
export interface CitationNews {
  readonly longForm: string
  /** SHA-256 of its canonical text */
  readonly checksum: string
  readonly rows: number
  /** the bundle began after rows that are not here */
  readonly isGap: boolean
}

/** A store of another node whose newest aggregated model is wanted. */
export interface StoreWish {
  readonly store: string
  /** SHA-256 of the newest one that is there already */
  readonly has: string | null
}

/** News for a node, carried by each bundle for it until it has acknowledged one of them. */
export interface BundleNews {
  /** ids of its last bundles that were applied here */
  readonly applied: readonly string[]
  readonly gaps: readonly FeedGap[]
  readonly refused: readonly RefusedChange[]
  readonly receipts: readonly ModelReceipt[]
  readonly citations: readonly CitationNews[]
}

/** Bundles that this node has written and applied. */
export interface BundleRows {
  /** Begins a bundle. @returns its number */
  begin(nodeId: string, bundleId: string): Promise<number>
  /** Notes what a bundle holds, when it is whole. */
  finish(seq: number, contents: BundleContents): Promise<void>
  /** Forgets a bundle that was not written to its end. */
  drop(seq: number): Promise<void>
  find(bundleId: string): Promise<WrittenBundle | undefined>
  /** Returns the whole bundle for a node that was written last. */
  newest(nodeId: string): Promise<WrittenBundle | undefined>
  /** Returns the whole bundles that nobody has acknowledged, oldest first. */
  unacknowledged(): Promise<WrittenBundle[]>
  /** Notes bundles that their receiver has applied, and forgets the news that they carried. */
  acknowledge(nodeId: string, bundleIds: readonly string[]): Promise<void>
  /** Notes that a bundle of another node was applied. */
  noteApplied(bundle: BundleMark): Promise<void>
  /** Returns whether a bundle written later was applied already. */
  isOld(bundle: BundleMark): Promise<boolean>
  /** Returns the news for a node. @param seq bundle that will carry them */
  news(nodeId: string, seq: number): Promise<BundleNews>
  /** Notes a gap in a feed of a node, in place of an earlier one; null when there is none any more. */
  noteGap(nodeId: string, feed: string, gap: FeedGap | null): Promise<void>
  noteRefused(nodeId: string, rows: readonly RefusedChange[]): Promise<void>
  noteReceipt(nodeId: string, receipt: ModelReceipt): Promise<void>
  noteCitation(nodeId: string, news: CitationNews): Promise<void>
  /** Notes which aggregated models a node wants, in place of what it wanted before. */
  noteWishes(nodeId: string, wishes: readonly StoreWish[]): Promise<void>
  wishes(nodeId: string): Promise<StoreWish[]>
}
