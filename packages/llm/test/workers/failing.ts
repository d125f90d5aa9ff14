throw new Error("this script fails");
