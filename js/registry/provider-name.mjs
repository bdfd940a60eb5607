// The name of a feature's provider, as providers and messages in the timeline have it. Records have the id.

/** @param {string} id of a feature of the feature host @returns {string} */
export const providerName = (id) => `tap-${id.slice(id.indexOf(":") + 1)}`;
