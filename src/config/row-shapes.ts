import { z } from 'zod'

/** Shapes of settings that make rows of a table, made anew for each reading of the settings. */

export const columnName = () => z.string().min(1).max(63)

/** Longitude and latitude of a place that does not move. */
export const fixedPlace = () => z.tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)])

/** Name of a table that has the places of devices. */
export const placesTable = () => z.string().min(1).max(200)

export const durationS = () =>
  z
    .number()
    .min(0)
    .max(31_536_000)
    .optional()
    .describe('time from the start of a row to its end, seconds; absent: the end is open')
