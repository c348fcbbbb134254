import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import type { StoredFile } from '../../tables/loader.js'
import type { DataLoaderContext } from './context.js'
import { GetFileParams, GetFileResult } from './schema.js'

/** Larger files are read while they are sent. */
const WHOLE_BYTES = 64 * 1024

export const getFile = defineMethod({
  name: 'getfileapi.get_file',
  summary: 'Bytes of a file that a record carries',
  scope: 'loader:read',
  errors: ['UNKNOWN_TABLE', 'UNKNOWN_FILE'],
  params: GetFileParams,
  result: GetFileResult,
  async handle({ data_name, prefix_id, path_id, file_name }, { loader }: Pick<DataLoaderContext, 'loader'>) {
    const place = { prefixId: prefix_id, pathId: path_id, name: file_name }
    const file = await loader.findFile(await loader.find(data_name), place)
    if (file === undefined) {
      const message = `${data_name} has no file with this prefix_id, path_id and file_name`
      throw new AppError('UNKNOWN_FILE', { data_name, prefix_id, path_id, file_name }, { message })
    }
    if (file.sizeBytes > WHOLE_BYTES) return streamed(resultText(file))
    return { file_data: (await Array.fromAsync(base64Pieces(file))).join('') }
  },
})

/** Text of the result, made while it is sent. A file that is missing fails before the first piece. */
async function* resultText(file: StoredFile): AsyncGenerator<string> {
  let head = '{"file_data":"'
  for await (const text of base64Pieces(file)) {
    yield head + text
    head = ''
  }
  yield `${head}"}`
}

/** Base64 of a file, cut where three bytes have become four characters. */
async function* base64Pieces(file: StoredFile): AsyncGenerator<string> {
  let rest: Uint8Array = Buffer.alloc(0)
  for await (const piece of await file.open()) {
    const bytes = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece])
    const whole = bytes.length - (bytes.length % 3)
    rest = bytes.subarray(whole)
    yield bytes.toString('base64', 0, whole)
  }
  if (rest.length > 0) yield Buffer.from(rest).toString('base64')
}
