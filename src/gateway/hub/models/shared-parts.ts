import { stat } from 'node:fs/promises'
import { ifThere } from '../../../files/blob-store.js'
import type { PartFiles } from '../../../files/part-files.js'
import type { UploadPieces } from '../../../files/s3/upload-pieces.js'
import type { Log } from '../../../log.js'
import type { UploadRows } from '../../../storage/models/uploads.js'
import { type UploadPieceRows, wentOn } from '../../../storage/postgres/models/upload-pieces.js'

/** Largest piece, bytes. Bytes of one request with a checksum are committed at once, up to the size of a model. */
const PIECE_BYTES = 64 * 1024 * 1024

interface SharedPartsDeps {
  /** files of this process */
  readonly parts: PartFiles
  readonly uploads: UploadRows
  readonly pieces: UploadPieces
  readonly rows: UploadPieceRows
  readonly log: Pick<Log, 'warn'>
}

/** Parts and rows of uploads that go on at another process. */
interface SharedParts {
  readonly parts: PartFiles
  readonly uploads: UploadRows
  /** Removes files of uploads that ended at another process. */
  tidy(): Promise<void>
}

/** An upload that is written here. */
interface Written {
  /** offset behind its last piece */
  keptBytes: number
  readonly sizeBytes: number
}

/**
 * Keeps the bytes of uploads where all processes of a hub find them: before an offset is acknowledged, the bytes before it
 * are pieces in the object store, and rows name them. The file of the process is a copy, which is made again from the
 * pieces where it lacks bytes.
 *
 * The last bytes become no piece: their offset is acknowledged as a model, which is put into the store whole. Where that
 * fails, the sender is told the offset behind the last piece and sends them again.
 */
export function sharedParts(deps: SharedPartsDeps): SharedParts {
  const { parts, uploads, pieces, rows, log } = deps
  const written = new Map<string, Written>()
  const removePieces = async (uploadId: string) => {
    try {
      await pieces.remove(uploadId)
    } catch (error) {
      log.warn({ err: error, uploadId }, 'pieces of an upload stay in the object store until a sweep')
    }
  }
  return {
    parts: {
      ...parts,
      async openAt(id, offsetBytes) {
        const upload = await uploads.find(id)
        if (upload === undefined) return undefined // it was removed meanwhile
        if (upload.modelId !== null || upload.offsetBytes !== offsetBytes) throw wentOn()
        let writer = await parts.openAt(id, offsetBytes)
        if (writer === undefined && (await restore(deps, id, offsetBytes)))
          writer = await parts.openAt(id, offsetBytes)
        if (writer !== undefined) written.set(id, { keptBytes: offsetBytes, sizeBytes: upload.sizeBytes })
        return writer
      },
      async has(id) {
        const sizeBytes = (await uploads.find(id))?.sizeBytes ?? 0
        return (await sizeOf(parts.pathOf(id))) === sizeBytes || (await restore(deps, id, sizeBytes))
      },
      async remove(id) {
        written.delete(id)
        await parts.remove(id)
        if (await rows.clear(id)) await removePieces(id)
      },
    },
    uploads: {
      ...uploads,
      async advance(id, offsetBytes) {
        if (offsetBytes === 0) {
          await rows.clear(id) // objects stay until its end: another process may put the same ones just now
          await uploads.advance(id, 0)
          return
        }
        const upload = written.get(id)
        if (upload === undefined) throw new Error('bytes were written to an upload that is not open here')
        while (upload.keptBytes < offsetBytes) {
          const start = upload.keptBytes
          const end = Math.min(start + PIECE_BYTES, offsetBytes)
          if (end === upload.sizeBytes) return
          const sha256 = await pieces.put(id, parts.pathOf(id), { start, end })
          await rows.add(id, { startBytes: start, sizeBytes: end - start, sha256 })
          upload.keptBytes = end
        }
      },
      async remove(id) {
        const had = (await rows.list(id)).length > 0
        await uploads.remove(id)
        if (had) await removePieces(id)
      },
    },
    async tidy() {
      for (const id of await parts.list()) {
        const upload = await uploads.find(id)
        if (upload !== undefined && upload.modelId === null) continue
        written.delete(id)
        await parts.remove(id)
      }
    },
  }
}

/** Size of a file, bytes; undefined for none. */
async function sizeOf(file: string): Promise<number | undefined> {
  return (await ifThere(stat(file)))?.size
}

/**
 * Makes the file of an upload from its pieces.
 *
 * @returns false when they do not reach the end that is asked for
 */
async function restore(
  { parts, pieces, rows }: SharedPartsDeps,
  uploadId: string,
  endBytes: number,
): Promise<boolean> {
  const listed = await rows.list(uploadId)
  if (listed.length === 0) return false
  const writer = await parts.openAt(uploadId, 0)
  let at = 0
  try {
    for (const { startBytes, sizeBytes, sha256 } of listed) {
      if (at >= endBytes || startBytes !== at) break
      const bytes = await pieces.folder(uploadId).open(sha256)
      if (bytes === undefined) break
      for await (const chunk of bytes) await writer?.write([chunk])
      at += sizeBytes
    }
    await writer?.sync()
  } finally {
    await writer?.close()
  }
  return at >= endBytes
}
