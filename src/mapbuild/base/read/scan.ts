import { type Blob, badExtract, type Extract, unpackBlob } from '../../extract/blobs.js'
import { createBlockReader, HOLDS } from '../../extract/block.js'
import { type ExtractHeader, readExtractHeader } from '../../extract/header.js'
import type { BlockVisitor } from '../../extract/osm-objects.js'

/** Report of one reading, called after each blob; it may throw to stop the build. */
export type OnBlob = (doneBytes: number, totalBytes: number) => Promise<void>

/** Blobs of an extract by what they hold, so that each reading skips the others. */
export interface Scanned {
  readonly header: ExtractHeader
  readonly nodeBlobs: readonly number[]
  readonly wayBlobs: readonly number[]
}

/**
 * Reads all blobs for one visitor, and lists them.
 *
 * @throws AppError BAD_EXTRACT
 */
export async function scanExtract(extract: Extract, visitor: BlockVisitor, onBlob: OnBlob): Promise<Scanned> {
  let header: ExtractHeader | undefined
  const nodeBlobs: number[] = []
  const wayBlobs: number[] = []
  const read = createBlockReader(visitor)
  for (const blob of extract.blobsFrom(0)) {
    if (blob.type === 'OSMHeader') header ??= readExtractHeader(unpackBlob(blob), blob.offset)
    if (header === undefined) throw badExtract(0, 'the file does not begin with an OSMHeader blob')
    if (blob.type === 'OSMData') {
      const holds = read(unpackBlob(blob), blob.offset)
      if ((holds & HOLDS.nodes) !== 0) nodeBlobs.push(blob.offset)
      if ((holds & HOLDS.ways) !== 0) wayBlobs.push(blob.offset)
    }
    await onBlob(endOf(blob), extract.sizeBytes)
  }
  if (header === undefined) throw badExtract(0, 'the file does not begin with an OSMHeader blob')
  return { header, nodeBlobs, wayBlobs }
}

/** Reads some blobs again. @param afterBlob called between two blobs, beside the report */
export async function readBlobs(
  extract: Extract,
  offsets: readonly number[],
  visitor: BlockVisitor,
  onBlob: OnBlob,
  afterBlob: () => Promise<void> = async () => undefined,
): Promise<void> {
  const read = createBlockReader(visitor)
  for (const offset of offsets) {
    for (const blob of extract.blobsFrom(offset)) {
      read(unpackBlob(blob), offset)
      await onBlob(endOf(blob), extract.sizeBytes)
      break
    }
    await afterBlob()
  }
}

function endOf({ offset, bytes }: Blob): number {
  return offset + bytes.length
}
