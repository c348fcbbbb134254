import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { DataLoaderContext } from './context.js'
import { GetFileParams, GetFileResult } from './schema.js'

export const getFile = defineMethod({
  name: 'getfileapi.get_file',
  summary: 'Bytes of a file that a record carries',
  scope: 'loader:read',
  errors: ['UNKNOWN_TABLE', 'UNKNOWN_FILE'],
  params: GetFileParams,
  result: GetFileResult,
  async handle({ data_name, prefix_id, path_id, file_name }, { loader }: Pick<DataLoaderContext, 'loader'>) {
    const place = { prefixId: prefix_id, pathId: path_id, name: file_name }
    const bytes = await loader.readFile(await loader.find(data_name), place)
    if (bytes === undefined) {
      const message = `${data_name} has no file with this prefix_id, path_id and file_name`
      throw new AppError('UNKNOWN_FILE', { data_name, prefix_id, path_id, file_name }, { message })
    }
    return { file_data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') }
  },
})
