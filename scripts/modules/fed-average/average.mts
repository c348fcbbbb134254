// Federated averaging: each tensor of the result is the weighted mean of that tensor in all models. Tensors are read a piece
// at a time, so memory does not grow with the models.
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'

interface Tensor {
  dtype: string
  shape: number[]
  /** half-open, in bytes behind the header */
  data_offsets: [number, number]
}

interface Model {
  file: number
  name: string
  weight: number
  round: number
  /** where the tensors' bytes begin */
  bytesAt: number
  tensors: Record<string, Tensor>
}

interface Configuration {
  params: { weight?: string }
  input: { models: { models: { file: string; info: ModelInfo }[] } }
  output: { model: { file: string; info_file: string } }
}

interface ModelInfo {
  model_id: string
  model_kind: string
  model_meta: Record<string, unknown>
  round: number
}

const NUMBERS = { F32: Float32Array, F64: Float64Array }
const PIECE_BYTES = 1024 * 1024
/** The format's own limit. */
const MAX_HEADER_BYTES = 100_000_000

main()

function main(): void {
  const { params, input, output } = JSON.parse(readFileSync('configuration.json', 'utf8')) as Configuration
  const key = params.weight ?? 'samples'
  const models = input.models.models.map(({ file, info }) => openModel(file, info, key))
  if (models.length === 0) fail('found no model, expected one or more')
  const total = models.reduce((sum, { weight }) => sum + weight, 0)
  if (!(total > 0)) fail(`the weights (model_meta.${key}) add up to ${total}, expected more than 0`)
  requireSameTensors(models)
  writeAverage(output.model.file, models, total)
  const info = {
    model_meta: { [key]: total, members: models.map(({ name }) => name) },
    round: Math.max(...models.map(({ round }) => round)) + 1,
  }
  writeFileSync(output.model.info_file, JSON.stringify(info))
  for (const { file } of models) closeSync(file)
}

function openModel(path: string, info: ModelInfo, key: string): Model {
  const weight = info.model_meta[key]
  if (typeof weight !== 'number' || !(weight >= 0) || weight === Number.POSITIVE_INFINITY)
    fail(
      `model ${info.model_id}: model_meta.${key}: found ${JSON.stringify(weight)}, expected a number of 0 or more`,
    )
  const file = openSync(path, 'r')
  const size = fstatSync(file).size
  const headerBytes = size < 8 ? 0 : Number(read(file, 0, 8).readBigUInt64LE())
  if (headerBytes < 2 || headerBytes > Math.min(size - 8, MAX_HEADER_BYTES))
    fail(`model ${info.model_id}: found no safetensors header`)
  const { __metadata__: _, ...tensors } = JSON.parse(read(file, 8, headerBytes).toString('utf8'))
  const bytesAt = 8 + headerBytes
  for (const [name, tensor] of Object.entries(tensors as Model['tensors']))
    checkTensor(`model ${info.model_id}, tensor ${name}`, tensor, size - bytesAt)
  return { file, name: info.model_id, weight, round: info.round, bytesAt, tensors }
}

function checkTensor(what: string, { dtype, shape, data_offsets }: Tensor, bytes: number): void {
  if (!(dtype in NUMBERS)) fail(`${what}: found ${dtype}, expected F32 or F64`)
  const [start, end] = data_offsets
  const wanted = shape.reduce((product, length) => product * length, 1) * (dtype === 'F32' ? 4 : 8)
  if (!(start >= 0) || end > bytes || end - start !== wanted)
    fail(`${what}: found bytes ${start} to ${end} of ${bytes}, expected ${wanted} of them`)
}

/** In the order of the names, which the result has too. */
function requireSameTensors([first, ...others]: Model[]): void {
  const shapeOf = ({ tensors }: Model) =>
    JSON.stringify(namesOf(tensors).map((name) => [name, tensors[name]?.dtype, tensors[name]?.shape]))
  if (first === undefined) return
  const odd = others.find((model) => shapeOf(model) !== shapeOf(first))
  if (odd !== undefined) fail(`model ${odd.name} has other tensors than model ${first.name}`)
}

function namesOf(tensors: Model['tensors']): string[] {
  return Object.keys(tensors).sort()
}

function writeAverage(path: string, models: Model[], total: number): void {
  const tensors = models[0]?.tensors ?? {}
  const header: Record<string, unknown> = { __metadata__: { format: 'pt', made_by: 'fed-average' } }
  let end = 0
  for (const name of namesOf(tensors)) {
    const { dtype, shape, data_offsets } = tensors[name] as Tensor
    const start = end
    end += data_offsets[1] - data_offsets[0]
    header[name] = { dtype, shape, data_offsets: [start, end] }
  }
  const text = JSON.stringify(header)
  const padded = Buffer.from(
    text.padEnd(Math.ceil(Buffer.byteLength(text) / 8) * 8 - Buffer.byteLength(text) + text.length),
  )
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(padded.length))
  const file = openSync(path, 'wx')
  writeSync(file, length)
  writeSync(file, padded)
  for (const name of namesOf(tensors)) writeTensor(file, name, tensors[name] as Tensor, models, total)
  closeSync(file)
}

function writeTensor(file: number, name: string, tensor: Tensor, models: Model[], total: number): void {
  const { dtype, data_offsets } = tensor
  const bytes = data_offsets[1] - data_offsets[0]
  const Numbers = NUMBERS[dtype as keyof typeof NUMBERS]
  for (let done = 0; done < bytes; done += PIECE_BYTES) {
    const pieceBytes = Math.min(PIECE_BYTES, bytes - done)
    const sum = new Float64Array(pieceBytes / Numbers.BYTES_PER_ELEMENT)
    for (const model of models) {
      const at = model.bytesAt + (model.tensors[name] as Tensor).data_offsets[0] + done
      const piece = read(model.file, at, pieceBytes)
      const values = new Numbers(piece.buffer, piece.byteOffset, sum.length)
      const share = model.weight / total
      for (const [index, value] of values.entries()) sum[index] = (sum[index] as number) + value * share
    }
    const mean = Numbers.from(sum)
    writeSync(file, new Uint8Array(mean.buffer, mean.byteOffset, mean.byteLength))
  }
}

/** Exactly so many bytes, in a buffer of their own: numbers must lie at multiples of their size. */
function read(file: number, at: number, length: number): Buffer<ArrayBuffer> {
  const buffer = Buffer.from(new ArrayBuffer(length))
  for (let done = 0; done < length; ) {
    const count = readSync(file, buffer, done, length - done, at + done)
    if (count === 0) fail('a model file ends too early')
    done += count
  }
  return buffer
}

/** The last line of output is the message that the caller receives. */
function fail(reason: string): never {
  process.stderr.write(`fed-average: ${reason}\n`)
  process.exit(1)
}
