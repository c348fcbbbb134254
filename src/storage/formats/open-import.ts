import type { ImportFile } from './import-file.js'
import { openCsv } from './read-csv.js'
import { openGeojson } from './read-geojson.js'
import { openGeopackage } from './read-geopackage.js'

/**
 * Opens a GeoPackage, GeoJSON or CSV file by its extension. Rows are read while they are asked for.
 *
 * @throws Error in one line when the extension or the file does not fit
 */
export async function openImport(file: string): Promise<ImportFile> {
  if (/\.gpkg$/i.test(file)) return openGeopackage(file)
  if (/\.(?:geo)?json$/i.test(file)) return await openGeojson(file)
  if (/\.csv$/i.test(file)) return await openCsv(file)
  throw new Error(`found the file name ${file}, expected an extension of .gpkg, .geojson or .csv`)
}
