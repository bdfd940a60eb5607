declare module "prebuildify" {
  /** https://github.com/prebuild/prebuildify: what is used of it here. */
  export default function prebuildify(
    options: {
      cwd: string;
      targets: string[];
      napi: boolean;
      strip: boolean;
      name: string;
      nodeGyp?: string;
    },
    done: (error: Error | null) => void,
  ): void;
}
