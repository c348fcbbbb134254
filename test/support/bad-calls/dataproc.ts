import type { BadCall, BadCalls } from './types.js'

const run = (more: object = {}) => ({ module: 'm', method: 'run', ...more })
const input = (value: unknown) => run({ input: { a: value } })
const output = (value: unknown) => run({ output: { a: value } })

const NO_PARAMS: readonly BadCall[] = [[{ x: 1 }, 'INVALID_PARAMS', /x/]]

/**
 * Calls at the module `m` of `test/e2e/bad-calls.test.ts`; `test/api/dataproc/bad-calls.test.ts` has more of
 * them.
 */
export const DATAPROC_BAD_CALLS: BadCalls = {
  'dataproc.get_server_version': NO_PARAMS,
  'dataproc.list_modules': NO_PARAMS,
  'dataproc.exec': [
    [{}, 'INVALID_PARAMS', /\$\.module/],
    [{ module: 'm' }, 'INVALID_PARAMS', /\$\.method/],
    [run({ module: 'nobody' }), 'UNKNOWN_MODULE', /named "nobody"/],
    [run({ module: '../m' }), 'UNKNOWN_MODULE', /named "\.\.\/m"/],
    [run({ method: 'walk' }), 'UNKNOWN_SCRIPT', /has no method "walk"/],
    [run({ method: 'gone' }), 'BAD_MODULE', /gone\.sh: is missing/],
    [run({ params: [] }), 'INVALID_PARAMS', /\$\.params/],
    [input({}), 'INVALID_PARAMS', /\$\.input\.a/],
    [input({ data_ddc: 'nothing' }), 'UNKNOWN_DATASET', /named "nothing"/],
    [input({ model_store_ddc: 'nothing' }), 'UNKNOWN_STORE', /named "nothing"/],
    [input({ model_store_ddc: 'rain', query: { '=': ['x', 1] } }), 'BAD_CONDITION', /\$\.input\.a\.query/],
    [output({ data_ddc: 'nothing' }), 'UNKNOWN_DATASET', /named "nothing"/],
  ],
}
