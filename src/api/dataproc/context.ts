import type { ModuleCatalog } from '../../dataproc/catalog.js'
import type { ModuleEngine } from '../../dataproc/engine.js'
import type { CallContext } from '../context.js'

/** Part of the call context that the methods of modules use. */
export type DataprocContext = Pick<CallContext, 'caller' | 'signal'> & {
  readonly modules: Pick<ModuleCatalog, 'list'> & ModuleEngine
  /** version of this program */
  readonly version: string
}
