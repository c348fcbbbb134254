import { AppError } from '../errors.js'

/** Longest part of a name that an error repeats, in UTF-16 units. */
const SHOWN_CHARS = 100

/** Returns the error for a model store that does not exist. @param advice appended to the message */
export function unknownStore(name: string, advice = ''): AppError {
  const shown = name.length > SHOWN_CHARS ? `${name.slice(0, SHOWN_CHARS)}…` : name
  return new AppError(
    'UNKNOWN_STORE',
    { model_store_ddc: shown },
    { message: `No model store is named ${JSON.stringify(shown)}${advice}` },
  )
}

/** Returns the error for the signature of an unsigned model. */
export function unsigned(modelId: string): AppError {
  const shown = modelId.slice(0, SHOWN_CHARS)
  return new AppError('NOT_FOUND', { model_id: shown }, { message: `The model ${shown} has no signature` })
}

/** Returns the error for a model that does not exist. */
export function unknownModel(modelId: string): AppError {
  const shown = modelId.slice(0, SHOWN_CHARS)
  return new AppError('UNKNOWN_MODEL', { model_id: shown }, { message: `No model has the id ${shown}` })
}
