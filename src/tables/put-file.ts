import type { BlobStore } from '../files/blob-store.js'

/** Keeps the bytes of a record's file and returns their digest; the bytes are on disk when it resolves. */
export async function putFile(files: Pick<BlobStore, 'stage'>, bytes: Uint8Array): Promise<string> {
  const staged = await files.stage(once(bytes))
  await staged.keep()
  return staged.sha256
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
