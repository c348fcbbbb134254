/** A resumable upload. Its bytes up to `offsetBytes` survive a power cut. */
export interface UploadRecord {
  uploadId: string
  /** key that created it; no other key may continue it */
  keyId: string
  /** announced digest, hex */
  sha256: string
  sizeBytes: number
  offsetBytes: number
  /** JSON text of the facts that completion registers */
  params: string
  createdAtUs: number
  activeAtUs: number
  /** model that it became; null until then */
  modelId: string | null
}

type NewUploadRow = Pick<UploadRecord, 'uploadId' | 'keyId' | 'sha256' | 'sizeBytes' | 'params'>

/** Resumable uploads. A finished one is kept for a while, so that a lost answer can be asked for again. */
export interface UploadRows {
  create(upload: NewUploadRow): Promise<UploadRecord>
  find(uploadId: string): Promise<UploadRecord | undefined>
  /** Finds an unfinished upload of the same key, bytes and params, for a client that lost its address. */
  findSame(keyId: string, sha256: string, params: string): Promise<UploadRecord | undefined>
  /** Records a new offset. Called when the bytes before it are on disk. */
  advance(uploadId: string, offsetBytes: number): Promise<void>
  remove(uploadId: string): Promise<void>
  /** Returns uploads without activity since an instant, longest idle first. */
  listIdle(beforeUs: number, limit: number): Promise<UploadRecord[]>
  /** Returns ids of uploads whose bytes are all on disk and which have no model yet, oldest first. */
  listUnregistered(limit: number): Promise<string[]>
  ids(): Promise<string[]>
  /** Returns the number of unfinished uploads of a key. */
  countOpen(keyId: string): Promise<number>
  /** Returns the bytes that all unfinished uploads have announced and not sent yet. */
  missingBytes(): Promise<number>
}
