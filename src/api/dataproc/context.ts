import type { ModuleCatalog } from '../../dataproc/catalog.js'
import type { ModuleEngine } from '../../dataproc/engine.js'
import type { CallContext } from '../context.js'

/** What the room of modules needs of the context. */
export type DataprocContext = Pick<CallContext, 'caller' | 'signal'> & {
  readonly modules: Pick<ModuleCatalog, 'list'> & ModuleEngine
  /** of this program */
  readonly version: string
}
