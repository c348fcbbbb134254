import type { ListQuery } from '../columns/list-query.js'

/** 10 registered on this node, 20 received as feedback, 30 aggregated, 40 fetched from an upstream */
export type ModelState = 10 | 20 | 30 | 40

/** Judgement on the signature of a model. */
export interface ModelSignature {
  /** key that made it, or that its bundle names: SHA-256 of the public key in PEM, hex; null where none is named */
  keyHint: string | null
  /** null while the key is not trusted: nothing has been verified */
  verdict: 'valid' | 'invalid' | null
}

/** A signature to store. */
export interface NewSignature extends ModelSignature {
  /** JSON text, as supplied */
  bundle: string
}

/** A stored signature that has no verdict. */
export interface OpenSignature {
  seq: number
  /** digest of the model's bytes, hex */
  sha256: string
  bundle: string
}

/** A registered model. Its bytes are in the blob store under `sha256`. */
export interface ModelRecord {
  /** position in the order of registration */
  seq: number
  modelId: string
  storeId: number
  storeName: string
  storeLongForm: string
  kind: string
  description: string
  /** JSON text of an object, as supplied */
  meta: string
  /** hex */
  md5: string
  /** hex */
  sha256: string
  sizeBytes: number
  state: ModelState
  /** nodes that passed the model on before this one */
  hopCount: number
  /** round of the federated learning */
  round: number
  lng: number
  lat: number
  /** beginning and end of the upload */
  startUs: number
  endUs: number
  /** name of the key that registered it */
  tenantId: string
  /** node and id of the first registration; null for a model first registered here */
  originNode: string | null
  originModelId: string | null
  /** ids of the nodes that passed it on, first one first */
  chain: string[]
  /** the bytes on disk are missing or differ from `sha256` */
  isDamaged: boolean
  /** null for an unsigned model */
  signature: ModelSignature | null
}

export type NewModel = Omit<
  ModelRecord,
  | 'seq'
  | 'storeId'
  | 'storeName'
  | 'storeLongForm'
  | 'originNode'
  | 'originModelId'
  | 'isDamaged'
  | 'signature'
> & {
  /** name of the store, short or long form */
  store: string
  origin: { node: string; modelId: string } | null
  signature?: NewSignature | null
}

/** Effects of a registration beyond its row, all in the same transaction. */
export interface AddOptions {
  /** creates an unknown store */
  autoCreate: boolean
  /** queues a feedback to every enabled upstream of the store */
  push: boolean
  /** fetch that brought the model: becomes delivered */
  fetchId?: number
  /** resumable upload that brought the model: becomes finished */
  uploadId?: string
}

export interface AddedModel {
  model: ModelRecord
  /** the origin was registered before: `model` is the earlier one and nothing was written */
  isRepeat: boolean
  /** feedbacks that were queued */
  transferIds: number[]
}

/** A row that cannot be shown, with the reason. */
export interface ModelFault {
  seq: number
  modelId: string
  reason: string
}

/** A digest in use. */
export interface ModelDigest {
  sha256: string
  sizeBytes: number
  isDamaged: boolean
}

export interface ModelCounts {
  models: number
  bytes: number
  damaged: number
  quarantined: number
}

/** Rows of models. */
export interface ModelRows {
  /** Adds a model; returns undefined if the store is unknown and `autoCreate` is false. */
  add(model: NewModel, options: AddOptions): Promise<AddedModel | undefined>
  /** Adds several models in one transaction; undefined, and none of them, if a store is unknown. */
  addAll(models: readonly { model: NewModel; options: AddOptions }[]): Promise<AddedModel[] | undefined>
  find(modelId: string): Promise<ModelRecord | undefined>
  /** Finds a model, also one that was deleted while a transfer still needs it. */
  findForTransfer(modelId: string): Promise<ModelRecord | undefined>
  /** Returns the signature bundle of a model, also of one that was deleted while a transfer needs it. */
  signatureOf(modelId: string): Promise<string | undefined>
  /** Returns at most `limit` signatures without a verdict, of models after `afterSeq`, in order. */
  openSignatures(afterSeq: number, limit: number): Promise<OpenSignature[]>
  /** Writes the verdicts of signatures that had none, in one transaction. */
  judgeSignatures(verdicts: readonly (ModelSignature & { seq: number })[]): Promise<void>
  /** Finds the model as which an origin was first registered, also a deleted one. */
  findByOrigin(node: string, modelId: string, storeId: number): Promise<ModelRecord | undefined>
  /** Returns the model of a state that was registered last. */
  newest(storeId: number, state: ModelState): Promise<ModelRecord | undefined>
  /**
   * Returns digests of models of a store that differ little from another one, the most alike first: the newest
   * fetched one, then the newest of a kind.
   *
   * @param wanted `sha256` is left out; `beforeSeq` leaves out later ones of the kind
   */
  listBases(
    storeId: number,
    wanted: { kind: string; sha256: string; beforeSeq?: number; limit: number },
  ): Promise<string[]>
  /**
   * Lists models of a store.
   *
   * @param trustedHints keys by which conditions and order read `signature`
   * @throws AppError BAD_CONDITION with the position of the fault
   */
  list(storeId: number, query: ListQuery, trustedHints?: readonly string[]): Promise<ModelRecord[]>
  /**
   * Hides a model from callers at once. Its row is removed as soon as no transfer waits for it.
   *
   * @returns the removed model; undefined for an unknown id
   */
  remove(modelId: string): Promise<ModelRecord | undefined>
  /**
   * Returns ids of models beyond the newest of their store, kind and state, oldest first, without those that a transfer has not
   * delivered, and without those from whose bytes the delta of an unfinished upload was made.
   *
   * @param kept newest models of each
   */
  surplus(kept: number, limit: number): Promise<string[]>
  /** Removes the rows of deleted models that no transfer waits for. Returns their number. */
  purge(): Promise<number>
  /** Returns any model with these bytes, provided that they are not damaged. */
  findByDigest(sha256: string): Promise<ModelRecord | undefined>
  /** Reports whether a model or a complete upload refers to the bytes. */
  isNamed(sha256: string): Promise<boolean>
  /** Reports whether the last model with these bytes was deleted, and the bytes were not removed since. */
  isReleased(sha256: string): Promise<boolean>
  /** Returns at most `limit` released digests. */
  released(limit: number): Promise<string[]>
  /** Forgets released digests, whose bytes are gone. */
  forgetReleased(digests: readonly string[]): Promise<void>
  /** Returns at most `limit` digests in use that sort after `after`, in order. */
  digests(after: string, limit: number): Promise<ModelDigest[]>
  /** Marks, or unmarks, all models with these bytes as damaged. Returns the number of changed models. */
  setDamaged(sha256: string, isDamaged: boolean): Promise<number>
  /**
   * Checks at most `limit` rows after `afterSeq` and hides those that cannot be shown.
   *
   * @returns `lastSeq` of the last checked row, null at the end of the table
   */
  quarantineBadRows(
    afterSeq: number,
    limit: number,
  ): Promise<{ lastSeq: number | null; faults: ModelFault[] }>
  counts(): Promise<ModelCounts>
}
