import { AppError } from '../errors.js'
import type { TransferRecord } from '../storage/models/transfers.js'
import type { UpstreamRecord, UpstreamRows } from '../storage/models/upstreams.js'
import type { Attempt, AttemptDeps, Progress } from './attempt.js'
import { baseUrlOf } from './endpoint.js'
import { fetchModel } from './fetch-model.js'
import { type ClientSettings, createUpstreamClient, type UpstreamClient } from './http-client.js'
import { discover, type PeerFacts } from './peer.js'
import { pushMultipart, pushSmall, SMALL_BYTES } from './push-multipart.js'
import { pushResumable } from './push-resumable.js'

/** Connection pool and kind of an upstream, kept until its settings change. */
interface Connection {
  updatedAtUs: number
  baseUrl: string
  client: UpstreamClient
  /** undefined until it was asked for, and again after a refusal */
  peer: PeerFacts | undefined
}

/** Runs attempts. */
export interface Runner {
  /**
   * Runs one attempt of a transfer to its end.
   *
   * @returns JSON text of the model_info that the upstream answered; null if the registration of a fetched
   *   model has completed the transfer
   * @throws AppError that `classify` takes
   */
  run(transfer: TransferRecord, signal: AbortSignal, progress: Progress): Promise<string | null>
  /** Forgets the kind of an upstream: the next attempt asks for it. */
  forgetPeer(upstreamId: number): void
  /** Closes all connections. */
  close(): Promise<void>
}

interface RunnerOptions {
  upstreams: Pick<UpstreamRows, 'find'>
  settings: ClientSettings & { allowInsecure: readonly string[] }
  /** for tests; by default `createUpstreamClient` */
  createClient?: typeof createUpstreamClient
}

/** Creates a runner, which keeps one connection pool per upstream. */
export function createRunner(deps: AttemptDeps, options: RunnerOptions): Runner {
  const { upstreams } = options
  const connections = new Map<number, Connection>()
  return {
    async run(transfer, signal, progress) {
      const upstream = await upstreams.find(transfer.upstreamId)
      if (upstream === undefined) throw new AppError('NO_UPSTREAM', { upstream_id: transfer.upstreamId })
      const connection = await connect(connections, upstream, options)
      const { client, baseUrl } = connection
      connection.peer ??= await discover(client, signal)
      const { peer } = connection
      const attempt: Attempt = { transfer, upstream, baseUrl, client, peer, signal, progress }
      return transfer.kind === 'feedback' ? await push(deps, attempt) : await fetch(deps, attempt)
    },
    forgetPeer(upstreamId) {
      const connection = connections.get(upstreamId)
      if (connection !== undefined) connection.peer = undefined
    },
    async close() {
      await Promise.all([...connections.values()].map(({ client }) => client.close()))
      connections.clear()
    },
  }
}

/**
 * Returns the connection of an upstream; replaces it, after closing it, if the settings of the upstream have
 * changed.
 */
async function connect(
  connections: Map<number, Connection>,
  upstream: UpstreamRecord,
  { settings, createClient = createUpstreamClient }: RunnerOptions,
): Promise<Connection> {
  const { upstreamId, updatedAtUs } = upstream
  const old = connections.get(upstreamId)
  if (old !== undefined && old.updatedAtUs === updatedAtUs) return old
  await old?.client.close()
  connections.delete(upstreamId)
  const { apikey, secret } = upstream
  if (secret === null) throw unreadableSecret()
  const baseUrl = baseUrlOf(upstream.endpoint, settings.allowInsecure)
  const client = createClient(baseUrl, { apikey, secret }, settings)
  const made: Connection = { updatedAtUs, baseUrl, client, peer: undefined }
  connections.set(upstreamId, made)
  return made
}

/** Returns the error for a secret of another key file. Transfers wait: the key, or the secret, may be set again. */
function unreadableSecret(): AppError {
  const message =
    'The secret of the upstream was encrypted with another key file: set it again with fl.update_upstream_info'
  return new AppError('UPSTREAM_UNREACHABLE', {}, { message })
}

async function push(deps: AttemptDeps, attempt: Attempt): Promise<string> {
  const { modelId } = attempt.transfer
  const model = modelId === null ? undefined : await deps.register.models.findForTransfer(modelId)
  if (model === undefined) throw new AppError('UNKNOWN_MODEL', { model_id: modelId })
  if (model.isDamaged) throw new AppError('MODEL_DAMAGED', { model_id: modelId })
  if (!attempt.peer.isPeer) return await pushMultipart(deps, attempt, model)
  return model.sizeBytes <= SMALL_BYTES
    ? await pushSmall(deps, attempt, model)
    : await pushResumable(deps, attempt, model)
}

async function fetch(deps: AttemptDeps, attempt: Attempt): Promise<string | null> {
  const { model, isKnown } = await fetchModel(deps, attempt)
  return isKnown ? JSON.stringify({ model_id: model.modelId }) : null
}
